#!/usr/bin/python3 -B
"""An elastic job is resized 4, 2, 3 workers in mid-epoch as others come and go: every step trains on the samples that it
would have had, each once, with the same global batch."""

import math
import re

from support.jobs import Cluster, wait_until
from support.program import rows, train

JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=48000", "--batch", "24", "--lr", "0.01",
       "--threads", "1", "--log-every", "1", "--eval-every", "100000", "--seed", "5"]

cluster = Cluster("cluster", "--policy", "fifo", "--slot", "1s", agents=(("a", 4),))
elastic = cluster.submit([*JOB, "--steps", "1000000"], "--workers", "2:4", "--name", "elastic")


def workers_are(count):
    return lambda: (job := cluster.job(elastic))["state"] == "running" and job["workers"] == count


def has_trained_on():
    """Whether it makes progress with the workers it has now."""
    done = len(rows(f"cluster/jobs/{elastic}/run"))
    wait_until(lambda: len(rows(f"cluster/jobs/{elastic}/run")) > done + 3, 60, lambda: cluster.job(elastic))


wait_until(workers_are(4), 20, lambda: cluster.job(elastic))
has_trained_on()
pair = cluster.submit([*JOB, "--steps", "1000000"], "--workers", "2", "--name", "pair")
wait_until(workers_are(2), 60, lambda: cluster.list())
has_trained_on()
single = cluster.submit([*JOB, "--steps", "1000000"], "--workers", "1", "--name", "single")
cluster.ask("cancel", pair)
wait_until(workers_are(3), 60, lambda: cluster.list())
has_trained_on()
cluster.ask("cancel", single)
cluster.ask("cancel", elastic)
cluster.wait_for_end()
log = cluster.call("logs", elastic).stdout
cluster.close()
sizes = re.findall(r"\[start \d+ with (\d) workers", log)
assert sizes[:3] == ["4", "2", "3"], sizes

found = [row for row in rows(f"cluster/jobs/{elastic}/run") if row["kind"] == "train"]
count = len(found)
assert [row["step"] for row in found] == list(range(1, count + 1)), "steps are lost or doubled"
assert count > 12
whole = train(*JOB, "--steps", count, "--out", "whole")
fixed = [row for row in rows("whole") if row["kind"] == "train"]
for a, b in zip(found, fixed):
    assert math.isclose(a["loss"], b["loss"], rel_tol=2e-3, abs_tol=1e-5) and a["epoch"] == b["epoch"], (a, b)
print(f"{count} steps with {' '.join(sizes)} workers: the losses of every step are those of one worker")
