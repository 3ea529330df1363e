#!/usr/bin/python3 -B
"""A run goes on with other workers than it began with, however they divide the model; one process evaluates all of it."""

import json
import math
import pathlib

from support.program import SMALL, output, refusal, train

MODEL = [*SMALL[:4], "--optimizer", "adam", "--threads", "1", "--epochs", "100"]
DIVISIONS = [[], ["--mesh", "tp=2"], ["--mesh", "dp=2", "--zero", "3"], ["--mesh", "dp=2,tp=2", "--zero", "0"],
             ["--mesh", "dp=3", "--zero", "1"]]


def files_of(step):
    return {path.name for path in pathlib.Path(f"moved/checkpoints/step-{step:08}").iterdir()}


# Twenty steps with each division reach what one worker reaches in as many, but for rounding.
whole = train(*MODEL, "--steps", 20 * len(DIVISIONS))
step = 0
for division in DIVISIONS:
    step += 20
    given = [*MODEL, "--out", "moved"] if step == 20 else ["--resume", "moved"]
    moved = train(*given, *division, "--steps", step)
    assert moved["steps"] == step, moved
    alone = json.loads(output("eval", "--run", "moved", "--json"))
    assert math.isclose(alone["test_loss"], moved["test_loss"], rel_tol=1e-5), (division, alone, moved)
assert math.isclose(moved["test_loss"], whole["test_loss"], rel_tol=1e-3), (moved, whole)
assert moved["mesh"] == "dp=3" and moved["zero"] == 1, moved
optimizers = {f"optimizer-{rank:05}.safetensors" for rank in range(3)}
assert files_of(100) == {"manifest.json", "model-00000.safetensors"} | optimizers, files_of(100)

# What changes the mathematics does not change.
for setting in (["--lr", "0.5"], ["--batch", "64"], ["--clip", "1"]):
    assert "cannot resume" in refusal(2, "train", "--resume", "moved", "--steps", 200, *setting)

# A part that is damaged: all workers go on from the checkpoint before, with one warning.
part = pathlib.Path("moved/checkpoints/step-00000100/optimizer-00001.safetensors")
part.write_bytes(part.read_bytes()[:-1] + b"!")
assert "optimizer-00001.safetensors" in refusal(3, "eval", "--checkpoint", part.parent)
again = train("--resume", "moved", "--steps", 100)
assert math.isclose(again["test_loss"], moved["test_loss"], rel_tol=1e-5), (again, moved)
