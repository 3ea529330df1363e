#!/usr/bin/python3 -B
"""Over slow links, which are emulated, gradients travel while backward goes on."""

import json
import os
import pathlib

from support.program import refusal, train

MODEL = ["--model", "lenet", "--data", "synthetic:mnist,samples=2048", "--batch", "512", "--workers", "2"]
SLOW = "uniform:alpha=50us,bandwidth=4Gbit"
done = train(*MODEL, "--steps", 16, "--transport", "tcp", "--emulate-net", SLOW, "--out", "slow")
summary = json.loads(pathlib.Path("slow/summary.json").read_text())
assert summary["emulated"] and summary["transport"] == "tcp", summary
assert 0 < summary["exposed_comm_seconds"] < summary["comm_seconds"], summary
assert 0 < summary["exposed_comm_fraction"] < 0.9, summary  # 1 if nothing is hidden; 0.2 on a machine of its own.

# The timeline has both threads of both ranks, and gradients that travel while backward computes.
events = [event for event in json.loads(pathlib.Path("slow/trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
for rank in (0, 1):
    backward = [event for event in events if event["pid"] == rank and event["name"] == "backward"]
    sums = [event for event in events if event["pid"] == rank and event["tid"] == 1 and event["name"] == "all_reduce"]
    assert len(backward) == 16 and len(sums) >= 2 * 16, (rank, len(backward), len(sums))
    behind = [one for one in sums for other in backward
              if other["ts"] < one["ts"] and one["ts"] + one["dur"] < other["ts"] + other["dur"]]
    assert behind, rank

# Links change when bytes arrive, and nothing else; nothing of them stays behind.
plain = train(*MODEL, "--steps", 16, "--transport", "tcp")
assert plain["parameter_hash"] == done["parameter_hash"] and not plain["emulated"], plain
assert not [name for name in os.listdir("/dev/shm") if name.startswith("hocket-links-")], os.listdir("/dev/shm")
assert "bandwidth" in refusal(2, "train", *MODEL, "--emulate-net", "uniform:bandwidth=fast")
