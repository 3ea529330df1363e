#!/usr/bin/python3 -B
"""Models have the sizes they are known for, and a model's text trains like the model."""

import json
import pathlib

from support.program import SMALL, output, refusal, train

SIZES = {"mlp": 669_706, "lenet": 421_642, "resnet20": 269_722, "gpt": 3_323_392, "resnet,depth=50": 25_557_032}
for name, size in SIZES.items():
    model = json.loads(output("models", name, "--json", "--batch", 2))
    assert model["parameters"] == size, (name, model["parameters"])
    assert sum(layer["parameters"] for layer in model["layers"]) == size, name
    assert model["forward_flops"] * 2 < model["training_flops"] < model["forward_flops"] * 4, name
    assert model["total_bytes"] > 4 * size * 3 and model["activation_bytes"] > 0, name

listed = output("models")
for name in "mlp lenet alexnet resnet gpt linreg logreg svm deepfm".split():
    assert f"\n{name} " in "\n" + listed, name
    output("models", name, "--batch", 2)

needed = json.loads(output("models", "lenet", "--json"))["total_bytes"]
output("models", "lenet", "--memory", needed)
assert f"{needed:,} bytes" in refusal(2, "models", "lenet", "--memory", needed - 1)
assert output("models", "lenet", "--dot").startswith("digraph")

text = output("models", "mlp,hidden=16", "--text")
pathlib.Path("own.model").write_text(text)
assert output("models", "file:own.model", "--text", "--batch", 7) == text
from_file = train(*SMALL, "--model", "file:own.model")
assert from_file["parameter_hash"] == train(*SMALL)["parameter_hash"]
