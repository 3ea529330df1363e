#!/usr/bin/python3 -B
"""Models of their real sizes, in f32 and on the fast kernels, train on two workers as on one: in 20 steps losses differ by
at most 1e-4 of the first one, and the parameters then by 1e-4 of their length. docs/BENCHMARKS.md says by how much."""

import math
import sys

from support.checkpoint import read_parameters
from support.program import output, rows

STEPS = 20
IMAGES = ["--data", "synthetic:mnist,samples=2560", "--batch", 128]
# At their own rate, 0.05, a difference in rounding decides where a relu of mlp or lenet is open, and grows to 5e-3 in resnet20.
MODELS = {
    "mlp": (IMAGES + ["--lr", 0.02], ["dp=2", "tp=2"]),
    "lenet": (IMAGES + ["--lr", 0.01], ["dp=2", "tp=2"]),
    "resnet20": (["--data", "synthetic:cifar10,samples=640", "--batch", 32, "--lr", 0.001], ["dp=2"]),
    "gpt": (["--data", "synthetic:text,samples=80", "--batch", 4], ["dp=2", "tp=2"]),
}


def trained(model, how, mesh, folder):
    """The loss of each step, and the parameters at the end."""
    output("train", "--model", model, *how, "--steps", STEPS, "--log-every", 1, "--quiet", "--validation", 0.1,
           "--sync-batch-norm", "--threads", 1, "--out", folder, *mesh)
    losses = [row["loss"] for row in rows(folder) if row["kind"] == "train"]
    assert len(losses) == STEPS, losses
    return losses, read_parameters(folder, STEPS)


def distance(a, b):
    """Of all parameters as one vector, by its length."""
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    return math.sqrt(sum(math.dist(a[name], b[name]) ** 2 for name in a) / sum(math.hypot(*a[name]) ** 2 for name in a))


for model in sys.argv[1:] or MODELS:
    how, meshes = MODELS[model]
    alone, parameters = trained(model, how, [], f"{model}-alone")
    for mesh in meshes:
        losses, others = trained(model, how, ["--mesh", mesh], f"{model}-{mesh}")
        loss = max(abs(a - b) for a, b in zip(losses, alone)) / alone[0]
        apart = distance(parameters, others)
        print(f"{model} {mesh}: losses {loss:.1e}, parameters {apart:.1e}", flush=True)
        assert loss < 1e-4 and apart < 1e-4, (model, mesh, losses, alone)
