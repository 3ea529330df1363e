#!/usr/bin/python3 -B
"""Workers that agree with their neighbours alone: rates, bytes, graphs that fall apart, and one that is slow."""

import pathlib

from support.program import SMALL, refusal, rows, run, train

MODEL = [*SMALL, "--workers", 4, "--batch", 64]
STILL = ["--optimizer", "sgd", "--lr", "1e-30", "--eval-every", 1, "--steps", 8]  # Nothing is learned.


def distances(folder):
    return [row["consensus_distance"] for row in rows(folder) if row["kind"] == "eval"]


# Without learning, replicas that begin apart come together as fast as the graph lets them.
complete = train(*MODEL, *STILL, "--sync", "gossip,graph=complete,spread=1", "--out", "complete")
assert distances("complete")[0] < 1e-4, distances("complete")
ring = train(*MODEL, *STILL, "--sync", "gossip,graph=ring,spread=1", "--out", "ring")
found = distances("ring")
assert abs(ring["peers"]["graph"]["second_eigenvalue"] - 1 / 3) < 1e-9, ring["peers"]
assert found[0] > 10 and all(abs(b / a - 1 / 3) < 0.02 for a, b in zip(found[2:], found[3:])), found
assert ring["parameter_hash"] == train(*MODEL, *STILL, "--sync", "gossip,graph=ring,spread=1")["parameter_hash"]

# The busiest worker sends its degree times the model a step, whatever it travels by.
model = complete["peers"]["busiest_bytes_sent"] // (3 * 8)
assert 4 * complete["parameters"] <= model < 4 * complete["parameters"] + 1024, complete
assert ring["peers"]["busiest_bytes_sent"] == 2 * 8 * model, ring["peers"]
tcp = train(*MODEL, *STILL, "--sync", "gossip,graph=exponential,spread=1", "--transport", "tcp", "--out", "tcp")
assert tcp["peers"]["busiest_bytes_sent"] == 2 * 8 * model and tcp["peers"]["graph"]["directed"], tcp["peers"]
assert distances("tcp")[-1] < 0.01 * distances("tcp")[0], distances("tcp")

# A graph that falls apart is refused, and allowed it shows why.
pathlib.Path("parts").write_text("0 1\n2 3 # nobody joins them\n")
pathlib.Path("one-way").write_text("0 1\n1 -> 2\n2 3\n")
pathlib.Path("torn").write_text("0 1\n1 -\n")
PARTS = [*MODEL, *STILL, "--sync", "gossip,graph=file:parts,spread=1"]
assert "components are {0, 1} {2, 3}" in refusal(2, "train", *PARTS)
assert "not strongly connected" in refusal(2, "train", *MODEL, "--sync", "gossip,graph=file:one-way")
assert "torn: line 2: expected" in refusal(3, "train", *MODEL, "--sync", "gossip,graph=file:torn")
assert "did you mean torus?" in refusal(2, "train", *MODEL, "--sync", "gossip,graph=tours")
train(*PARTS, "--allow-disconnected", "--out", "parts-run")
assert distances("parts-run")[-1] > 0.9 * distances("parts-run")[0], distances("parts-run")

# It learns, says so, and a slow worker slows nobody who does not wait for it.
done = run("train", *MODEL, "--epochs", 3, "--sync", "gossip", "--out", "learnt")
assert done.returncode == 0 and "spectral gap 0.6667" in done.stderr and "gossip  " in done.stdout, done
paced = [*MODEL, "--sync", "gossip-async", "--steps", 60, "--eval-every", 60, "--emulate-compute", 0.01]
slow = train(*paced, "--slow", "3=10", "--out", "slow")
steps = slow["peers"]["steps"]
assert sum(steps) >= 4 * 60 and min(steps[:3]) > 3 * steps[3], steps
assert slow["emulated"] and slow["test_accuracy"] > 0.9 and slow["peers"]["consensus_distance"] < 1, slow
assert train("--resume", "slow")["steps"] == 60
