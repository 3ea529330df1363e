#!/usr/bin/python3 -B
"""hocket jobs simulate: policies side by side as table, JSON and page; the real trace where it is; one line for a bad one."""

import csv
import json
import os
import pathlib

from support.browser import browse, drawn_pixels, find_browser
from support.program import output, refusal

small = ["jobs", "simulate", "--machines", "8x4", "--jobs", 600, "--load", 1.5]
table = output(*small, "--html", "jobs.html", "--slot", "5m,1h")
assert all(f" {name} " in table for name in ("fifo", "sjf", "slots 5m", "slots 1h", "las 1h", "pack")), table
rows = {row["name"]: row for row in json.loads(output(*small, "--json"))}
assert rows["sjf"]["mean_completion"] < rows["fifo"]["mean_completion"]
page = pathlib.Path("jobs.html").resolve()
assert not any(f"{scheme}://" in page.read_text().split("<script")[0] for scheme in ("http", "https"))
if find_browser():
    pixels = drawn_pixels(browse(find_browser(), page))
    assert len(pixels) == 6 and all(count > 500 for count in pixels), pixels
else:
    print("the page is not drawn: no browser here")

pathlib.Path("bad.csv").write_text("timestamp,duration,num_gpus\n0,5,1\n0,five,1\n")
assert "bad.csv, line 3, column 2 (duration)" in refusal(3, "jobs", "simulate", "--trace", "bad.csv")
pathlib.Path("large.csv").write_text("timestamp,duration,num_gpus\n0,5,99\n")
assert "wants 99 workers" in refusal(3, "jobs", "simulate", "--trace", "large.csv", "--machines", "2x4")
assert "las" in refusal(2, "jobs", "simulate", "--policy", "lass")
assert "nothing is done" in refusal(2, "jobs", "simulate", "--policy", "slots", "--slot", "30s")

trace = pathlib.Path(os.environ.get("HOCKET_TEST_DATA", "/nowhere")) / "traces" / "philly.csv"
if trace.exists():
    durations = [float(row["duration"]) for row in csv.DictReader(trace.open())]
    free = json.loads(output("jobs", "simulate", "--trace", trace, "--machines", "2000x128", "--policy", "fifo", "--json"))[0]
    assert free["mean_completion"] == sum(durations) / len(durations) and free["mean_queueing"] == 0, free
    replay = json.loads(output("jobs", "simulate", "--trace", trace, "--policy", "fifo,sjf,las", "--json"))
    fifo, sjf, las = (row["mean_completion"] for row in replay)
    assert sjf < 0.6 * fifo and las < 0.6 * fifo, (fifo, sjf, las)
    print("Philly:", [(row["name"], f"{row['mean_completion'] / 3600:.2f} h", f"{row['replay_cpu_seconds']:.1f} s") for row in replay])
else:
    print("the Philly trace is not replayed: HOCKET_TEST_DATA does not name it")
