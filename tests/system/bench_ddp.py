#!/usr/bin/python3 -B
"""`hocket bench step --workers 2 --peers` measures PyTorch's DDP in the same rounds, and leaves nothing running. Figures
themselves are not judged here."""

import json
import os
import subprocess
import sys

from support.sessions import assert_nothing_runs, start

BENCH = [os.environ["HOCKET"], "bench", "step", "--models", "mlp", "--workers", "2", "--peers", "--seconds", "1",
         "--rounds", "2", "--json"]

if len(os.sched_getaffinity(0)) < 2:
    print("skipped: two workers need two processors")
    sys.exit(77)

missing = start(*BENCH, "--python", "/no/python")
out, remarks = missing.communicate()
assert missing.returncode == 0 and "torch is left out: /no/python" in remarks, remarks
assert [row["peer"] for row in json.loads(out)] == ["hocket", "unrelated", "hocket"], out

if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
    print("skipped: /usr/bin/python3 has no torch (./dev bench installs it)")
    sys.exit(77)

bench = start(*BENCH)
out, remarks = bench.communicate()
assert bench.returncode == 0, remarks
assert_nothing_runs(bench)
rows = json.loads(out)
found = [(row["peer"], row["workers"]) for row in rows]
assert found == [("hocket", 1), ("unrelated", 2), ("hocket", 2), ("torch", 1), ("torch-best", 1), ("torch-ddp", 2)], remarks
alone, ddp = rows[-2:]
assert all(row["items_per_second"] > 0 and len(row["samples"]) == 2 for row in rows), rows
assert 0 < ddp["efficiency"] < 2 and "static_graph" in ddp["settings"]["speed_ups"], ddp
assert set(alone["settings"]["settings"]) <= set(ddp["settings"]["settings"]), (alone, ddp)
