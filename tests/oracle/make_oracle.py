#!/usr/bin/env python3
"""Makes the tensors beside this file: losses and gradients of the dense models as PyTorch computes them in f64.

    /usr/bin/python3 tests/oracle/make_oracle.py        (packages python3-torch, libopenblas0-pthread)

Weights and batches are not stored: both sides compute them from `pattern`, whose values are exact in f32. A file holds

    losses            f64 (4)   the mean loss before each of four steps on the same batch
    norms             f64 (P)   of each parameter's first gradient, in the order of the metadata's "parameters"
    gradient/NAME     f32 (n)   every (count / n)-th element of that gradient, all of them where it is small
    buffer/NAME       f32       running statistics after the first forward pass

and as metadata what `src/train/oracle_test.cc` needs to build the same model.
"""

import json
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
import torch_step as models  # noqa: E402  (before torch: it sets torch's environment)
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

STEPS = 4


def mix_bits(x):
    """hocket::mix_bits (src/base/rng.h), of an array of uint64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def bits(name, count):
    """`count` random numbers of 64 bits that only depend on the name."""
    stream = np.zeros(1, np.uint64)
    for character in name.encode():
        stream = mix_bits(stream ^ np.uint64(character))
    with np.errstate(over="ignore"):
        return mix_bits(stream + np.arange(count, dtype=np.uint64))


def pattern(name, shape):
    """Values in [-1, 1) with 16 bits each."""
    values = (bits(name, int(np.prod(shape))) >> np.uint64(48)).astype(np.float64)
    return torch.from_numpy(((values - 32768) / 32768).reshape(shape))


def labels(name, shape, classes):
    values = (bits(name, int(np.prod(shape))) >> np.uint64(33)).astype(np.int64)
    return torch.from_numpy((values % classes).reshape(shape))


def weights(name, shape):
    """Matrices with a deviation of about 1/√fan_in, scales around one, small biases."""
    values = pattern(name, shape)
    if len(shape) >= 2:
        scale, fan_in = 1.0, int(np.prod(shape[1:]))
        while scale * scale * fan_in > 3:
            scale /= 2
        return values * scale
    return 1 + values / 4 if name.endswith("weight") else values / 8


def batch_of(case):
    if "context" in case:
        shape = (case["samples"], case["context"])
        return labels("tokens", shape, case["classes"]), labels("label", shape, case["classes"])
    return pattern("input", (case["samples"], *case["input"])), labels("label", (case["samples"],), case["classes"])


def optimizer_of(case, parameters):
    if case["optimizer"] == "adamw":
        return torch.optim.AdamW(parameters, lr=case["learning_rate"], weight_decay=0)
    return torch.optim.SGD(parameters, lr=case["learning_rate"], momentum=0.9)


def sample(tensor, limit):
    flat = tensor.detach().flatten()
    count = min(len(flat), limit)
    return flat[:: len(flat) // count][:count].float().numpy()


def record(model, limit):
    """What the first step leaves: gradients and running statistics."""
    tensors = {"norms": np.array([p.grad.norm().item() for p in model.parameters()])}
    for name, parameter in model.named_parameters():
        tensors[f"gradient/{name}"] = sample(parameter.grad, limit)
    for name, value in model.named_buffers():
        if "running" in name:
            name = name.replace("running_var", "running_variance")
            tensors[f"buffer/{name}"] = value.float().numpy()
    return tensors


def run(case):
    model = case["build"]().double().train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights(name, tuple(parameter.shape)))
    inputs, targets = batch_of(case)
    optimizer = optimizer_of(case, model.parameters())
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets.flatten())
        losses.append(loss.item())
        loss.backward()
        if step == 0:
            tensors = record(model, case["limit"])
        optimizer.step()
    tensors["losses"] = np.array(losses)
    names = " ".join(name for name, _ in model.named_parameters())
    return tensors, names


def write_safetensors(path, tensors, metadata):
    dtypes = {"float32": "F32", "float64": "F64"}
    header, offset = {"__metadata__": metadata}, 0
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    for name, tensor in ordered:
        header[name] = {"dtype": dtypes[tensor.dtype.name], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in ordered:
            file.write(tensor.tobytes())


def classes_case(model, build, field, shape, samples, limit):
    return {"model": model, "build": build, "field": field, "input": shape, "samples": samples, "limit": limit,
            "classes": 10, "optimizer": "momentum", "learning_rate": 0.05}


def gpt_case(model, build, context, symbols, samples, limit):
    return {"model": model, "build": build, "field": "tokens", "context": context, "samples": samples, "limit": limit,
            "classes": symbols, "optimizer": "adamw", "learning_rate": 0.001}


SMALL, MEDIUM, FULL = 1024, 200, 43  # Elements kept of a gradient.
CASES = {
    "mlp_small": classes_case("mlp,hidden=16x16", lambda: models.Mlp(20, (16, 16)), "features", (20,), 6, SMALL),
    "lenet_small": classes_case("lenet,channels=4x8,hidden=16", lambda: models.LeNet(12, (4, 8), 16), "image",
                                (1, 12, 12), 5, SMALL),
    "resnet_small": classes_case("resnet,depth=8", lambda: models.ResNet(8), "image", (3, 8, 8), 5, MEDIUM),
    "gpt_small": gpt_case("gpt,layers=2,width=16,heads=2", lambda: models.Gpt(2, 16, 2, 8, 32), 8, 32, 3, SMALL),
    "mlp": classes_case("mlp", models.Mlp, "image", (1, 28, 28), 16, FULL),
    "lenet": classes_case("lenet", models.LeNet, "image", (1, 28, 28), 8, FULL),
    "resnet20": classes_case("resnet20", models.ResNet, "image", (3, 32, 32), 4, FULL),
    "gpt": gpt_case("gpt", models.Gpt, 128, 256, 2, FULL),
}


def main():
    torch.set_num_threads(1)
    for name, case in CASES.items():
        tensors, parameters = run(case)
        shape = case.get("input", (case.get("context"),))
        metadata = {key: str(case[key]) for key in ("model", "field", "samples", "classes", "optimizer", "learning_rate")}
        metadata |= {"shape": "x".join(map(str, shape)), "parameters": parameters, "torch": torch.__version__}
        path = HERE / f"{name}.safetensors"
        write_safetensors(path, tensors, metadata)
        print(f"{path.name}: {path.stat().st_size} bytes, losses {tensors['losses']}")


if __name__ == "__main__":
    main()
