#!/usr/bin/python3 -B
"""A run that is killed again and again, and resumed, ends with the parameters of one that was never stopped."""

import random
import subprocess
import time

from support.program import HOCKET, rows, train

RUNS = [
    ["--model", "mlp,hidden=32,dropout=0.3", "--data", "synthetic:mnist,samples=1500", "--optimizer", "adam",
     "--microbatches", "2", "--epochs", "30", "--checkpoint-every", "7"],
    ["--model", "resnet,depth=8", "--data", "synthetic:3x8x8:4:300", "--augment", "flip,shift=1,noise=0.1",
     "--lr-schedule", "cosine", "--batch", "64", "--epochs", "25", "--checkpoint-every", "4"],
]


def kill_after(step, arguments, folder):
    """Starts or resumes a run and kills it once it has passed `step`."""
    process = subprocess.Popen([HOCKET, "train", *arguments, "--quiet", "--resume", "--out", folder],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(row["step"] >= step for row in rows(folder)):
        time.sleep(0.005)
    process.kill()
    process.wait()


for number, settings in enumerate(RUNS):
    arguments = [*settings, "--threads", "1", "--log-every", "1"]
    whole = train(*arguments, "--out", f"whole-{number}")
    points = sorted(random.Random(number).sample(range(1, whole["steps"]), 5))
    for step in points:
        kill_after(step, arguments, f"killed-{number}")
    resumed = train("--resume", f"killed-{number}")
    assert resumed["parameter_hash"] == whole["parameter_hash"], (arguments, points)
    assert resumed["test_loss"] == whole["test_loss"]
    steps = [row["step"] for row in rows(f"killed-{number}") if row["kind"] == "train"]
    assert steps == list(range(1, whole["steps"] + 1)), steps
