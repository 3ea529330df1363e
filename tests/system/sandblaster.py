#!/usr/bin/python3 -B
"""L-BFGS with its vectors on servers: the same bits however many they are, whoever is slow, and when a worker dies."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET, refusal, rows, train

MODEL = ["--model", "logreg,c=1", "--data", "synthetic:sparse,samples=4000,features=200", "--sync", "sandblaster",
         "--workers", 2, "--threads", 1, "--steps", 30]

one = train(*MODEL, "--out", "one")
assert one["sync"] == "sandblaster" and one["workers"] == 2 and 0 < one["steps"] <= 30, one
assert one["bytes_sent"] < 10 * 1024 * max(1, one["steps"]), one  # The coordinator's: scalars alone.
losses = [row["loss"] for row in rows("one") if "loss" in row and row.get("kind", "train") == "train"]
assert losses == sorted(losses, reverse=True), losses

for servers in (2, 3):
    more = train(*MODEL, "--servers", servers)
    assert more["servers"] == servers and more["parameter_hash"] == one["parameter_hash"], (more, one)

slow = train(*MODEL, "--servers", 2, "--slow", "1=10")
assert slow["emulated"] and slow["parameter_hash"] == one["parameter_hash"], (slow, one)

# It comes as low as many epochs of gradient descent.
sgd = train(*MODEL[:4], "--epochs", 30, "--optimizer", "sgd", "--lr", 0.5, "--lr-schedule", "cosine", "--threads", 1)
assert one["objective"] < 1.01 * sgd["objective"], (one["objective"], sgd["objective"])

assert "--replicas does not go with" in refusal(2, "train", *MODEL, "--servers", 2, "--replicas", 2)


def worker_of(folder, index):
    """The process of that worker: recorder, coordinator and one server come before it."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if folder.encode() in words and f"HOCKET_RANK={3 + index}".encode() in variables:
            return int(path.parent.name)
    return None


# A worker that is killed is missed, and changes no bit.
words = [HOCKET, "train", *map(str, MODEL), "--emulate-compute", "0.01", "--out", "killed", "--json", "--quiet"]
process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while len(rows("killed")) < 2:
    assert process.poll() is None, process.communicate()
    time.sleep(0.01)
os.kill(worker_of("killed", 1), signal.SIGKILL)
out, err = process.communicate(timeout=60)
assert process.returncode == 0 and "worker 1" in err and "go on" in err, (process.returncode, err)
assert json.loads(out)["parameter_hash"] == one["parameter_hash"], out
