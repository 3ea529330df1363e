#!/usr/bin/python3 -B
"""plan: the layers of a model are measured, cut and predicted; slow ranks and little memory move layers; convolutions are
replicated and matrices pipelined on a slow network. simulate pipeline: bubbles are those of the formulas."""

import json
import math
import pathlib

from support.program import output, refusal, train


def plan(*arguments):
    return json.loads(output("plan", "--json", "--threads", 1, *arguments))


def simulate(schedule, stages, micro_batches, *arguments):
    return json.loads(output("simulate", "pipeline", "--json", "--schedule", schedule, "--stages", stages,
                             "--microbatches", micro_batches, *arguments))


for stages in (2, 4, 8):
    for name, formula in [("naive", (stages - 1) / stages), ("gpipe", (stages - 1) / (15 + stages)),
                          ("1f1b", (stages - 1) / (15 + stages)), ("interleaved", (stages - 1) / (31 + stages))]:
        shown = simulate(name, stages, 16)
        assert math.isclose(shown["bubble"], formula, rel_tol=1e-9), (name, stages, shown["bubble"])
    assert simulate("pipedream", stages, 64)["steady_bubble"] < 1e-9
assert [row["in_flight"] for row in simulate("1f1b", 4, 8)["by_stage"]] == [4, 3, 2, 1]
assert [row["in_flight"] for row in simulate("gpipe", 4, 8)["by_stage"]] == [8] * 4
assert "F0 F1 F2 .. .. .. .. B0 ==" in output("simulate", "pipeline", "--stages", 3, "--microbatches", 4)
assert "4 stages do not divide 6" in refusal(2, "simulate", "pipeline", "--schedule", "interleaved", "--microbatches", 6)
assert "did you mean gpipe?" in refusal(2, "simulate", "pipeline", "--schedule", "gpip")

layers = ["--model", "mlp,hidden=512x512x512x512x512", "--data", "synthetic:mnist,samples=256", "--batch", 64]
slow_net = ["--cluster", "uniform:alpha=100us,bandwidth=1Gbit"]
mlp = plan(*layers, *slow_net, "--mesh", "pp=2")
assert mlp["mesh"] == "pp=2" and mlp["stages"].count("|") == 1 and mlp["stages"].startswith("fc1"), mlp["stages"]
assert sum(len(part["layers"]) for part in mlp["parts"]) == 6
steps = {row["micro_batches"]: row["step_seconds"] for row in mlp["micro_batches"]}
best = mlp["best"]["micro_batches"]
assert steps[best] <= 1.01 * min(steps.values()) and best < 64, steps
assert all(row["memory_bytes"] for row in mlp["ways"]) and {row["replicas"] for row in mlp["ways"]} == {1, 2}

# A rank of a quarter of the speed, or with little memory, gets fewer layers.
layers_of = lambda result: [len(part["layers"]) for part in result["parts"]]
slow = plan(*layers, *slow_net, "--mesh", "pp=2", "--speed", "1=0.25")
assert layers_of(slow)[1] < 3, slow["parts"]
small = plan(*layers, *slow_net, "--mesh", "pp=2", "--memory", "1=4MB")
assert layers_of(small)[1] < 3 and small["best"]["memory_bytes"][1] <= 4e6, small["best"]
assert "nothing fits" in refusal(2, "plan", *layers, "--mesh", "pp=2", "--memory", "1KB")
assert "expected pp=K" in refusal(2, "plan", *layers, "--mesh", "qq=2")

# PipeDream's choice on a slow network: one replicated stage for convolutions, a pipeline for matrices.
wide = plan("--model", "mlp,hidden=1024x1024x1024", "--data", "synthetic:mnist,samples=256", "--batch", 64, "--ranks", 4,
            *slow_net)
assert len(wide["pipedream"]["stages"]) > 1, wide["pipedream"]
assert wide["pipedream"]["stages"][0]["replicas"] == 1 and wide["mesh"] == "pp=4", wide["pipedream"]
convolutions = plan("--model", "resnet,depth=8", "--data", "synthetic:cifar10,samples=256", "--batch", 64, "--ranks", 4,
                    *slow_net)
assert [stage["replicas"] for stage in convolutions["pipedream"]["stages"]] == [4], convolutions["pipedream"]
assert convolutions["mesh"] == "dp=4", convolutions["ways"]

# What was measured is what trains, and it trains as one worker does.
small = ["--model", "mlp,hidden=64x64x64", "--data", "synthetic:mnist,samples=512", "--batch", 32, "--microbatches", 4,
         "--steps", 4, "--threads", 1]
whole = train(*small)
cut = train(*small, "--mesh", "pp=2", "--stages", "measured", "--out", "measured")
assert cut["parameter_hash"] == whole["parameter_hash"], (cut, whole)
assert 'stages = "fc1' in pathlib.Path("measured/config.toml").read_text()
assert "needs a pipeline" in refusal(2, "train", *small, "--workers", 2, "--stages", "measured")
