#!/usr/bin/python3 -B
"""Replicas that are themselves cut, under servers: what a whole one computes, and one dead worker when they die."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support.checkpoint import largest_difference
from support.program import HOCKET, refusal, rows, train

MLP = ["--model", "mlp,hidden=16", "--data", "synthetic:mnist,samples=500", "--batch", 20]
TEXT = ["--model", "gpt,layers=1,width=32,heads=4", "--data", "synthetic:text", "--batch", 8]
EXACT = ["--dtype", "f64", "--threads", 1, "--steps", 12]


for name, model in (("mlp", MLP), ("gpt", TEXT)):
    for sync in ("downpour", "downpour,nfetch=3,npush=2"):
        run = [*model, *EXACT, "--sync", sync, "--servers", 2]
        whole = train(*run, "--workers", 1, "--out", f"{name}-{sync}-whole")
        cut = train(*run, "--workers", 2, "--mesh", "tp=2", "--out", f"{name}-{sync}-cut")
        assert cut["mesh"] == "tp=2" and cut["workers"] == 2 and len(cut["ranks"]) == 1, cut
        difference = largest_difference(f"{name}-{sync}-whole", f"{name}-{sync}-cut", 12)
        print(f"{name}, {sync}: parameters differ by {difference:.1e}")
        assert difference < 1e-10 and abs(cut["test_loss"] - whole["test_loss"]) < 1e-10, (difference, cut, whole)

# Two of them; and running statistics, which are cut, too.
whole = train(*TEXT, *EXACT, "--sync", "ps:bsp", "--workers", 2)
cut = train(*TEXT, *EXACT, "--sync", "ps:bsp", "--workers", 4, "--mesh", "tp=2")
assert cut["mesh"] == "dp=2,tp=2" and abs(cut["test_loss"] - whole["test_loss"]) < 1e-10, (cut, whole)
assert train(*MLP, *EXACT, "--sync", "downpour", "--workers", 4, "--mesh", "dp=2,tp=2")["steps"] == 12
IMAGES = ["--model", "resnet,depth=8", "--data", "synthetic:3x8x8:3:96", "--batch", 24, "--steps", 4, "--threads", 1,
          "--dtype", "f64", "--sync", "ps:bsp"]
whole = train(*IMAGES, "--workers", 2)
cut = train(*IMAGES, "--workers", 4, "--mesh", "tp=2")
assert abs(cut["test_loss"] - whole["test_loss"]) < 1e-8, (cut, whole)

# A replica that dies is one worker less.
words = [HOCKET, "train", *map(str, MLP), "--threads", "1", "--steps", "400", "--epochs", "100", "--sync", "ps:asp",
         "--workers", "4", "--mesh", "tp=2", "--log-every", "1", "--out", "dies", "--json", "--quiet"]
process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while len(rows("dies")) < 3:
    assert process.poll() is None, process.communicate()
    time.sleep(0.005)
for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        is_replica = b"HOCKET_RANK=3" in path.read_bytes().split(b"\0")
        is_ours = b"dies" in (path.parent / "cmdline").read_bytes().split(b"\0")
    except OSError:
        continue
    if is_replica and is_ours:
        os.kill(int(path.parent.name), signal.SIGKILL)
out, err = process.communicate(timeout=120)
assert process.returncode == 0 and "worker 0 was killed" in err and "the others go on" in err, (process.returncode, err)
assert json.loads(out)["steps"] == 400, out

assert "--mesh with tp does not go with" in refusal(2, "train", *MLP, "--sync", "sandblaster", "--mesh", "tp=2")
