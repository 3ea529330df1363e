#!/usr/bin/python3 -B
"""Workers with a replica each: local SGD, AdaComm and model averaging, as users run them."""

import math

from support.checkpoint import read_parameters
from support.program import SMALL, refusal, rows, train

MODEL = [*SMALL, "--optimizer", "sgd", "--workers", 2]
RUN = [*MODEL, "--steps", 32, "--epochs", 9]

# One step a round is all-reduce; eight a round send an eighth.
train(*RUN, "--out", "sums")
every = train(*RUN, "--sync", "local,tau=1", "--out", "every")
eighth = train(*RUN, "--sync", "local,tau=8", "--out", "eighth")
sums, means = read_parameters("sums", 32), read_parameters("every", 32)
assert sums.keys() == means.keys() and sums
for name, values in sums.items():
    assert max(abs(a - b) for a, b in zip(values, means[name])) < 1e-6, name
assert every["sync"] == "local,tau=1" and every["peers"]["rounds"] == 32 and eighth["peers"]["rounds"] == 4, every
assert every["peers"]["bytes_sent"] == 8 * eighth["peers"]["bytes_sent"] > 0, (every, eighth)
assert {row["tau"] for row in rows("eighth") if "tau" in row} == {8}

# The number of steps a round follows the formula, from the losses that all workers saw.
adaptive = train(*MODEL, "--steps", 60, "--epochs", 9, "--sync", "adacomm,tau0=6,every=12", "--log-every", 1,
                 "--out", "adaptive")
periods = adaptive["peers"]["periods"]
assert periods[0] == {"step": 1, "tau": 6} and periods[-1]["tau"] == 1, periods
assert all(a["tau"] > b["tau"] and a["step"] < b["step"] for a, b in zip(periods, periods[1:])), periods
losses = {row["step"]: row["loss"] for row in rows("adaptive") if "tau" in row}  # Of a round each.
first = train(*MODEL, "--steps", 1, "--sync", "local,tau=1")["train_loss"]
wanted = math.ceil(math.sqrt(losses[12] / first) * 6)
assert periods[1] == {"step": 13, "tau": wanted if wanted < 6 else 3}, (periods, losses[12], first)

# Nothing passes a driver, sparse rows and their decay included, and the optimum is near.
SPARSE = ["--model", "logreg,c=1", "--data", "synthetic:sparse,samples=4000,features=200", "--threads", 1]
best = train(*SPARSE, "--sync", "sandblaster", "--workers", 2, "--steps", 40)["objective"]
average = train(*SPARSE, "--sync", "average", "--workers", 2, "--epochs", 8, "--batch", 64,
                "--lr", 3, "--lr-schedule", "linear")
assert average["peers"]["rounds"] == 8 and average["peers"]["driver_bytes"] == 0, average
assert average["objective"] - best < 0.01 * 4000, (average["objective"], best)  # A sample's mean loss.

assert "tau=N" in refusal(2, "train", *RUN, "--sync", "local")
assert "did you mean adacomm" in refusal(2, "train", *RUN, "--sync", "adacom,tau0=4")
assert "--zero does not go with" in refusal(2, "train", *RUN, "--sync", "local,tau=4", "--zero", 1)
