#!/usr/bin/python3
"""`hocket bench step --json` gives rows with the documented keys; figures themselves are not judged here."""

import json
import os
import subprocess

run = subprocess.run([os.environ["HOCKET"], "bench", "step", "--models", "mlp", "--threads", "1", "--seconds", "0.2",
                      "--rounds", "2", "--json"], check=True, capture_output=True, text=True)
(row,) = json.loads(run.stdout)
assert row["model"] == "mlp" and row["peer"] == "hocket" and row["dtype"] == "f32", row
assert row["workers"] == 1 and row["threads"] == 1 and len(row["samples"]) == 2, row
assert 0 < row["p10"] <= row["items_per_second"] <= row["p90"], row
assert 0 < row["share_of_peak"] < 1.5, row

bad = subprocess.run([os.environ["HOCKET"], "bench", "step", "--models", "mpl"], capture_output=True, text=True)
assert bad.returncode == 2 and "mlp" in bad.stderr, bad
