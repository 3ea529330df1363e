#!/usr/bin/python3 -B
"""Shares of the batch by measured speed: the slow worker gets less, the parameters are those of equal shares."""

import statistics

from support.checkpoint import largest_difference
from support.program import SMALL, refusal, rows, run, train

MODEL = [*SMALL[:4], "--threads", 1, "--workers", 2]
SECONDS = 0.04
SLOW = ["--emulate-compute", SECONDS, "--slow", "1=3"]

even = train(*MODEL, "--epochs", 5, "--out", "even")
balanced = train(*MODEL, "--epochs", 5, *SLOW, "--balance", "--out", "balanced")
assert largest_difference("even", "balanced", even["steps"]) < 1e-5
assert balanced["samples"] == even["samples"] and balanced["steps"] == even["steps"] and balanced["emulated"]
first, second = (rank["share"] for rank in balanced["ranks"])
assert 0.65 < first < 0.85 and abs(first + second - 1) < 1e-9, balanced

# Once it has measured, a step takes what both together need: twice the samples of one at 4/3 of its speed, not
# three times as long as one. Half-way between the two is too much.
seconds = [row["seconds"] for row in rows("balanced") if row["kind"] == "train"]
steps = [row["step"] for row in rows("balanced") if row["kind"] == "train"]
step = statistics.median((b - a) / (d - c) for a, b, c, d in zip(seconds[10:], seconds[11:], steps[10:], steps[11:]))
assert step < 2.25 * SECONDS, (step, "ideal", 1.5 * SECONDS)

# A resumed run takes every sample once, too.
train(*MODEL, "--epochs", 5, "--steps", 33, *SLOW, "--balance", "--out", "part")
resumed = train("--resume", "part", "--steps", 80)
assert resumed["samples"] == even["samples"], (resumed, even)
assert largest_difference("even", "part", even["steps"]) < 1e-5

done = run("train", *MODEL, "--steps", 12, *SLOW, "--balance")
assert done.returncode == 0 and "shares of the batch are now" in done.stderr, done.stderr
assert "--balance" in refusal(2, "train", *MODEL, "--balance", "--zero", 1)
assert "--balance" in refusal(2, "train", *MODEL, "--balance", "--sync", "ps:asp")
