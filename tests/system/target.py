#!/usr/bin/python3 -B
"""A target ends the run when it is reached, and has an exit code of its own when it is not."""

import json

from support.program import SMALL, run, train

reached = train(*SMALL, "--epochs", 50, "--target-accuracy", "0.5")
assert reached["steps"] < 800 and reached["time_to_target"] > 0, reached

noise = ["--model", "mlp,hidden=4", "--data", "synthetic:mnist,samples=500", "--steps", "1", "--lr", "1e-9"]
missed = run("train", *noise, "--target-accuracy", "0.99", "--json", "--quiet")
assert missed.returncode == 5, missed
assert json.loads(missed.stdout)["time_to_target"] is None
