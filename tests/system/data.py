#!/usr/bin/python3 -B
"""Data sets are listed, described, checked and converted; what was converted reads back the same."""

import json

from support.program import output, refusal, train

kinds = {kind["name"] for kind in json.loads(output("data", "--json"))}
assert kinds >= set("fashion-mnist mnist cifar10 image-folder text libsvm csv synthetic".split()), kinds

small = "synthetic:1x8x8:3:60"
described = json.loads(output("data", "describe", small, "--json"))
assert described["train"]["samples"] == 60 and sum(described["train"]["histogram"]) == 60, described
assert "60" in output("data", "describe", small)
assert "all good" in output("data", "check", small)

output("data", "convert", small, "--to", "idx", "--out", "as-idx")
converted = json.loads(output("data", "describe", "mnist:as-idx,classes=3", "--json"))
assert converted["train"]["histogram"] == described["train"]["histogram"]
train("--model", "mlp,hidden=8", "--data", "mnist:as-idx,classes=3", "--epochs", 1)
assert "did you mean describe?" in refusal(2, "data", "descrbe", small)
