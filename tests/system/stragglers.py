#!/usr/bin/python3 -B
"""A worker that is made slow: the others wait for it, the parameters stay the same, and everything says emulated."""

import json
import pathlib

from support.program import SMALL, refusal, run, train

MODEL = [*SMALL[:4], "--threads", 1, "--workers", 2, "--steps", 20]
SECONDS = 0.02

quick = train(*MODEL, "--emulate-compute", SECONDS, "--out", "quick")
slow = train(*MODEL, "--emulate-compute", SECONDS, "--slow", "1=5", "--out", "slow")
assert quick["emulated"] and slow["emulated"] and not train(*MODEL)["emulated"], (quick, slow)
assert slow["parameter_hash"] == quick["parameter_hash"] == train(*MODEL)["parameter_hash"]

# The step of all is the slow one's: it computes, the other waits.
first, second = slow["ranks"]
assert slow["train_seconds"] >= 20 * 5 * SECONDS, slow
assert second["compute_seconds"] > 0.7 * slow["train_seconds"] > 1.5 * first["compute_seconds"], slow
assert first["exposed_comm_seconds"] > 0.5 * slow["train_seconds"] > 3 * second["exposed_comm_seconds"], slow
assert quick["train_seconds"] < 0.6 * slow["train_seconds"], (quick, slow)

trace = json.loads(pathlib.Path("slow/trace.json").read_text())
events = trace["traceEvents"] if isinstance(trace, dict) else trace
asleep = [event for event in events if event.get("name") == "slower (emulated)"]
assert len(asleep) == 40 and max(event["dur"] for event in asleep) > 3e6 * SECONDS, asleep
assert "are emulated" in pathlib.Path("slow/report.html").read_text()

done = run("train", *MODEL, "--jitter", 0.5, "--log-every", 1)
assert done.returncode == 0 and "1 thread each, emulated" in done.stderr and "emulated  " in done.stdout, done

assert "expected RANK=FACTOR" in refusal(2, "train", *MODEL, "--slow", "5")
assert "no rank 2 among 2 workers" in refusal(2, "train", *MODEL, "--slow", "2=5")
assert "number from 0 to 10" in refusal(2, "train", *MODEL, "--jitter", "-1")
