#!/usr/bin/python3 -B
"""Kills 500 heads, backups and coordinators of runs that train, at random moments. Under ps:bsp the parameters must be
those of an undisturbed run, bit for bit: no acknowledged update is lost, none is applied twice. Training must go on
within 1.5 s, in 95 of 100 cases."""

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HOCKET", str(pathlib.Path(sys.argv[1]).resolve()))
os.environ.setdefault("HOCKET_SOURCE", str(pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from support.nodes import kill_nodes, percentile  # noqa: E402

kills = int(sys.argv[2]) if len(sys.argv) > 2 else 500
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
os.chdir(tempfile.mkdtemp())

killed, pauses = 0, []
while killed < kills:
    count, more = kill_nodes(seed, "ps:asp" if seed % 4 == 3 else "ps:bsp", steps=3000)
    killed, pauses, seed = killed + count, pauses + more, seed + 1
    print(f"{killed} nodes killed, seeds up to {seed - 1}: training stood still for p50 {percentile(pauses, 0.5):.2f} s, "
          f"p95 {percentile(pauses, 0.95):.2f} s, at most {max(pauses):.2f} s", flush=True)
assert percentile(pauses, 0.95) <= 1.5
