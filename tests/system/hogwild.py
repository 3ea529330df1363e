#!/usr/bin/python3 -B
"""Threads without locks: one is a worker like any other, two share the parameters, and dense models are warned of."""

import json
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET, SMALL, refusal, rows, run, train

DENSE = SMALL[:4]
SPARSE = ["--model", "logreg", "--data", "synthetic:sparse,samples=20000,features=100000", "--optimizer", "sgd",
          "--lr", 1, "--batch", 64]

# One thread goes the way of one worker, to the bit where the model is dense.
alone = train(*DENSE, "--epochs", 2, "--threads", 1)
assert train(*DENSE, "--epochs", 2, "--sync", "hogwild")["parameter_hash"] == alone["parameter_hash"]
serial = train(*SPARSE, "--epochs", 2, "--threads", 1)
one = train(*SPARSE, "--epochs", 2, "--sync", "hogwild")
assert abs(one["test_loss"] - serial["test_loss"]) < 1e-5, (one, serial)

# Two take every sample once, learn as much, and say how often they met.
for sync in ("hogwild", "hogwild,rows=1", "hogwild,rows=1,locked=1"):
    two = train(*SPARSE, "--epochs", 2, "--workers", 2, "--sync", sync)
    assert two["workers"] == 2 and two["sync"] == sync and two["transport"] == "threads", two
    assert two["samples"] == 40000 and two["steps"] == serial["steps"] and two["bytes_sent"] == 0, two
    assert two["test_loss"] < serial["test_loss"] + 0.02, (sync, two, serial)
    assert sum(rank["gradients_applied"] for rank in two["ranks"]) >= 626 and len(two["ranks"]) == 2, two
    assert two["hogwild"]["conflict_rate"] < 0.05 and two["hogwild"]["observed_updates"] > 0, two

# A dense model trains as well, with a warning that says how often.
done = run("train", *DENSE, "--epochs", 20, "--workers", 2, "--sync", "hogwild", "--json", "--out", "dense")
dense = json.loads(done.stdout)
assert done.returncode == 0 and "% of what was written another thread had changed" in done.stderr, done.stderr
assert dense["hogwild"]["conflict_rate"] > 0 and dense["test_accuracy"] > alone["test_accuracy"] - 0.1, dense
events = json.loads(pathlib.Path("dense/trace.json").read_text())["traceEvents"]
assert {event["pid"] for event in events if event.get("name") == "forward"} == {0, 1}, "both threads are in the trace"

# A slow thread takes fewer samples; nobody waits for it.
slow = train(*DENSE, "--steps", 60, "--epochs", 100, "--workers", 2, "--sync", "hogwild", "--emulate-compute", 0.01, "--slow", "1=5")
first, second = (rank["gradients_applied"] for rank in slow["ranks"])
assert slow["emulated"] and first > 2 * second and first + second == 120, slow

# Ctrl-C ends the batch and leaves a checkpoint that it goes on from; the target ends a run.
LONG = [*DENSE, "--steps", 3000, "--epochs", 1000, "--workers", 2, "--sync", "hogwild"]
process = subprocess.Popen([HOCKET, "train", *map(str, LONG), "--log-every", "1", "--out", "stopped", "--json", "--quiet"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while len(rows("stopped")) < 3:
    assert process.poll() is None, process.communicate()
    time.sleep(0.005)
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=60)
stopped = json.loads(out)
assert process.returncode == 130 and stopped["status"] == "interrupted" and 0 < stopped["steps"] < 3000, (out, err)
resumed = train("--resume", "stopped")
assert resumed["status"] == "done" and resumed["steps"] == 3000, resumed
assert resumed["samples"] == 187 * 2000 + 8 * 128, (resumed, "187 epochs of 16 steps, and 8 steps")
early = train(*DENSE, "--epochs", 50, "--workers", 2, "--sync", "hogwild", "--target-accuracy", 0.6)
assert early["time_to_target"] is not None and early["epochs"] < 50, early

assert "--zero does not go with --sync hogwild" in refusal(2, "train", *DENSE, "--workers", 2, "--sync", "hogwild", "--zero", 1)
assert "send nothing" in refusal(2, "train", *DENSE, "--workers", 2, "--sync", "hogwild", "--explain")
assert "did you mean locked" in refusal(2, "train", *DENSE, "--sync", "hogwild,lock=1")
assert "not finite" in refusal(1, "train", *DENSE, "--workers", 2, "--sync", "hogwild", "--lr", "1e30", "--steps", 50)
