#!/usr/bin/env python3
"""PyTorch's side of bench/time_to_accuracy.py: lenet on Fashion-MNIST with DistributedDataParallel over Gloo.

    torch_train.py lenet 1 CAPABILITY SETTINGS RANK WORKERS FILE SEED BATCH LR EPOCHS EVAL_EVERY TARGET

The first arguments are those of torch_step.py, whose models and settings these are. Each worker takes its part of every
batch and of every test. Tests follow each EVAL_EVERY steps (0: each epoch) until the accuracy is TARGET. Worker 0
prints a line of JSON: the seconds of the steps alone, those of the tests, and those from the start to the first step.
"""

import time

BEGAN = time.perf_counter()

import gzip
import json
import sys

import torch_step  # Sets what OpenBLAS and torch read when they are loaded, and so comes first.

import torch
import torch.distributed as dist
import torch.nn.functional as F

FOLDER = "/usr/share/datasets/fashion-mnist"


def load(part, settings):
    with gzip.open(f"{FOLDER}/{part}-images-idx3-ubyte.gz") as file:
        pixels = torch.frombuffer(bytearray(file.read()[16:]), dtype=torch.uint8)
    with gzip.open(f"{FOLDER}/{part}-labels-idx1-ubyte.gz") as file:
        labels = torch.frombuffer(bytearray(file.read()[8:]), dtype=torch.uint8).long()
    images = pixels.view(-1, 1, 28, 28).float().div_(255).sub_(0.2860).div_(0.3530)
    if "channels_last" in settings:
        images = images.contiguous(memory_format=torch.channels_last)
    return images, labels


def make_model(settings):
    """With initial weights of the distributions that Hocket's have."""
    model = torch_step.LeNet()
    for conv in (model.conv1, model.conv2):
        torch.nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        torch.nn.init.zeros_(conv.bias)
    if "channels_last" in settings:
        model = model.to(memory_format=torch.channels_last)
    return torch_step.parallel(model, settings)


def share(items, rank, workers):
    """A worker's contiguous part."""
    return items[len(items) * rank // workers : len(items) * (rank + 1) // workers]


@torch.no_grad()
def accuracy(model, images, labels, rank, workers):
    right = torch.zeros(1)
    for chosen in share(torch.arange(len(labels)), rank, workers).split(500):
        right += (model.module(images[chosen]).argmax(1) == labels[chosen]).sum()
    dist.all_reduce(right)
    return right.item() / len(labels)


def main():
    settings = sys.argv[4].split(",") if sys.argv[4] else []
    rank, workers = int(sys.argv[5]), int(sys.argv[6])
    seed, batch, rate, epochs, eval_every, target = (float(word) for word in sys.argv[8:])
    torch.set_num_threads(int(sys.argv[2]))
    torch_step.join_workers(rank, workers, sys.argv[7])
    torch.manual_seed(int(seed))  # The same on all: each takes its part of the same order.
    images, labels = load("train", settings)
    test = load("t10k", settings)
    model = make_model(settings)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, foreach="foreach" in settings)
    dist.barrier()
    steps, reached, training, testing = 0, 0, 0, 0
    startup, start = time.perf_counter() - BEGAN, time.perf_counter()
    for epoch in range(int(epochs)):
        batches = torch.randperm(len(images)).split(int(batch))
        for i, whole in enumerate(batches):
            chosen = share(whole, rank, workers)
            loss = F.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad(set_to_none="keep_gradients" not in settings)
            loss.backward()
            optimizer.step()
            steps += 1
            if steps % eval_every if eval_every else i + 1 < len(batches):
                continue
            training += time.perf_counter() - start
            start = time.perf_counter()
            reached = accuracy(model, *test, rank, workers)
            testing += time.perf_counter() - start
            start = time.perf_counter()
            if reached >= target:
                break
        if reached >= target:
            break
    if rank == 0:
        print(json.dumps({"accuracy": reached, "reached": reached >= target, "steps": steps, "seconds": training,
                          "test_seconds": testing, "startup": startup}), flush=True)


if __name__ == "__main__":
    main()
