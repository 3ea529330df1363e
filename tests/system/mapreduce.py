#!/usr/bin/python3 -B
"""Descent by the gradient of all data through a driver: the serial result, also when a worker dies, and what is read again."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support.checkpoint import read_parameters
from support.program import HOCKET, refusal, rows, train

FEATURES = 40


def write_data(path):
    """Rows of two features each, of which the sum of the columns decides the label."""
    lines = []
    for i in range(600):
        a, b = i * 7 % FEATURES, (i * i + 3) % FEATURES
        lines.append(f"{1 if a + b > FEATURES else -1} " + " ".join(f"{c + 1}:1" for c in sorted({a, b})))
    path.write_text("\n".join(lines) + "\n")


def rank_of(folder, rank):
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if folder.encode() in words and f"HOCKET_RANK={rank}".encode() in variables:
            return int(path.parent.name)
    return None


def expect_serial(folder, step):
    serial, found = read_parameters("serial", step), read_parameters(folder, step)
    assert serial.keys() == found.keys() and serial
    for name, values in serial.items():
        assert max(abs(a - b) for a, b in zip(values, found[name])) < 1e-6, (folder, name)


data = pathlib.Path("rows")
write_data(data)
MODEL = ["--model", "logreg,c=1", "--data", "libsvm:rows", "--threads", 1, "--lr", 0.5, "--steps", 12, "--epochs", 12]
train(*MODEL, "--optimizer", "sgd", "--batch", 600, "--out", "serial")

# Serial descent, with the files read in every iteration or once.
again = train(*MODEL, "--sync", "mapreduce", "--workers", 2, "--out", "again")
once = train(*MODEL, "--sync", "mapreduce,cache=1", "--workers", 2, "--out", "once")
for folder in ("again", "once"):
    expect_serial(folder, 12)
size = data.stat().st_size
assert again["workers"] == 2 and again["steps"] == again["peers"]["rounds"] == 12, again
assert again["peers"]["data_bytes_read"] == 12 * 2 * size, (again["peers"], size)
assert once["peers"]["data_bytes_read"] == 2 * size, (once["peers"], size)

# A driver that is not a worker passes every model twice.
dense = ["--model", "mlp,hidden=16", "--data", "synthetic:1x4x4:16:61", "--threads", 1, "--steps", 5, "--epochs", 9]
mllib = train(*dense, "--sync", "mllib", "--workers", 3)
assert mllib["peers"]["driver_bytes"] == 5 * 2 * 3 * 4 * mllib["parameters"], mllib

# The tasks of a worker that dies are run again, from the model that the last iteration wrote.
words = [HOCKET, "train", *map(str, MODEL), "--sync", "mapreduce", "--workers", "2", "--emulate-compute", "0.05",
         "--log-every", "1", "--out", "killed", "--json", "--quiet"]
process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while not any(row["step"] >= 3 for row in rows("killed")):
    assert process.poll() is None, process.communicate()
    time.sleep(0.005)
os.kill(rank_of("killed", 2), signal.SIGKILL)
out, err = process.communicate(timeout=120)
assert process.returncode == 0, err
assert json.loads(out)["restarts"] == 1 and json.loads(out)["steps"] == 12, out
expect_serial("killed", 12)

assert "choose sgd or momentum" in refusal(2, "train", *MODEL, "--sync", "mapreduce", "--workers", 2, "--optimizer", "adam")
assert "say --workers" in refusal(2, "train", *MODEL, "--sync", "mllib", "--mesh", "dp=2")
