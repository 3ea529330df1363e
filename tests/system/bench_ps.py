#!/usr/bin/python3 -B
"""`hocket bench ps`: rows of what workers and servers move, beside what the transport does."""

import json

from support.program import output, refusal

KEYS = {"kind", "bytes", "workers", "servers", "replicas", "keys_per_second", "gigabytes_per_second", "p10", "p90",
        "transport_limit", "share_of_limit"}

short = ["--seconds", 0.1, "--rounds", 2, "--bytes", "64KiB"]
rows = json.loads(output("bench", "ps", "--json", *short))
found = [(row["kind"], row["servers"], row["replicas"]) for row in rows]
assert found == [(kind, *counts) for kind in ("dense", "sparse") for counts in ((1, 1), (2, 1), (2, 2))], found
for row in rows:
    assert KEYS <= row.keys() and row["workers"] == 2, row
    assert min(row[key] for key in ("keys_per_second", "p10", "gigabytes_per_second", "transport_limit")) > 0, row

table = output("bench", "ps", *short, "--workers", 1, "--servers", 1)
assert len(table.splitlines()) == 3 and "64 KiB" in table, table

assert "--servers" in refusal(2, "bench", "ps", "--servers", "none")
assert "replicas" in refusal(2, "bench", "ps", "--servers", 1, "--replicas", 2)
