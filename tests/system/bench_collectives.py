#!/usr/bin/python3
"""`hocket bench collectives --json` gives rows with the documented keys and exact counters; times are not judged here."""

import json
import os
import subprocess

HOCKET = os.environ["HOCKET"]
KEYS = ["collective", "algorithm", "transport", "ranks", "bytes", "median_us", "p10_us", "p90_us", "bus_bandwidth",
        "rounds", "fan_in", "bytes_per_rank", "total_bytes", "peer"]
TINY = ["--rounds", "1", "--seconds", "0.001", "--quiet"]


def bench(*arguments):
    run = subprocess.run([HOCKET, "bench", *arguments, *TINY, "--json"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


# What each algorithm moves for 12 KiB over 4 ranks: rounds, fan-in, bytes of the busiest rank, bytes of all.
MOVES = {"ring": (6, 1, 18432, 73728), "recursive_doubling": (2, 1, 24576, 98304), "master": (2, 3, 36864, 73728),
         "exchange": (1, 3, 36864, 147456), "sharded": (2, 3, 18432, 73728)}

rows = bench("collectives", "--ranks", "4", "--bytes", "12KiB", "--transport", "shm,tcp,inproc", "--algorithms",
             ",".join(MOVES))
assert len(rows) == 3 * len(MOVES), rows
for row in rows:
    assert list(row) == KEYS, row
    found = (row["rounds"], row["fan_in"], row["bytes_per_rank"], row["total_bytes"])
    assert found == MOVES[row["algorithm"]], row
    assert (row["collective"], row["ranks"], row["bytes"], row["peer"]) == ("all_reduce", 4, 12288, "hocket"), row
    assert 0 < row["p10_us"] <= row["median_us"] <= row["p90_us"] and row["bus_bandwidth"] > 0, row

rows = bench("collectives", "--collective", "all", "--ranks", "2", "--bytes", "64", "--transport", "shm")
assert len(rows) == 9 and {row["algorithm"] for row in rows} == {"direct"}, rows

rows = bench("collectives", "--ranks", "4", "--bytes", "4KiB", "--transport", "shm,inproc", "--algorithms",
             "ring,hierarchical", "--emulate-net", "uniform:alpha=1ms,bandwidth=1Gbit,rack=2", "--rounds", "1")
assert len(rows) == 4 and all(row["emulated"] and row["predicted_us"] > 2000 for row in rows), rows
assert all(row["median_us"] >= row["predicted_us"] * 0.85 for row in rows), rows

rows = bench("transport", "--bytes", "4,64KiB")
assert [row["transport"] for row in rows] == ["inproc"] * 2 + ["shm"] * 2 + ["tcp"] * 2 + ["memcpy"] * 2, rows
assert all(row["median_us"] > 0 and row["alpha_us"] >= 0 for row in rows), rows

shown = subprocess.run([HOCKET, "bench", "collectives", "--show", "ring", "--ranks", "4"], check=True,
                       capture_output=True, text=True).stdout
assert "6 rounds" in shown and "chunk 3 -> rank 1" in shown, shown

bad = subprocess.run([HOCKET, "bench", "collectives", "--algorithms", "rung"], capture_output=True, text=True)
assert bad.returncode == 2 and "ring" in bad.stderr, bad
