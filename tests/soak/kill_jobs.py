#!/usr/bin/python3 -B
"""Kills the coordinator, an agent or a process of a job, 100 times at random moments, while jobs take turns: none is lost,
none runs twice at once, each ends with the bits of a run that nobody disturbed, and nothing is left behind."""

import os
import pathlib
import random
import sys
import tempfile
import time

os.environ.setdefault("HOCKET", str(pathlib.Path(sys.argv[1]).resolve()))
os.environ.setdefault("HOCKET_SOURCE", str(pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from support.jobs import Cluster, check_never_twice  # noqa: E402
from support.program import train  # noqa: E402

kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
os.chdir(tempfile.mkdtemp())
rng = random.Random(seed)
JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--log-every", "1000",
       "--eval-every", "100000", "--steps", "8000", "--checkpoint-every", "400"]

cluster = Cluster("cluster", "--policy", "slots", "--slot", "3s", "--restarts", "100000", agents=(("a", 1), ("b", 2)))
jobs, killed = [], 0
while killed < kills:
    ended = {job["id"] for job in cluster.list()["jobs"] if job["ended"] is not None}
    while len(set(jobs) - ended) < 4:
        workers = ["1", "3", "1", "2"][len(jobs) % 4]  # Three are on both machines.
        jobs.append(cluster.submit([*JOB, "--seed", str(len(jobs))], "--workers", workers, "--span"))
    time.sleep(rng.uniform(0.1, 2))
    cluster.kill(rng.choice(["server", "agent", "job", "job"]), rng)
    killed += 1
    check_never_twice(cluster)
    if killed % 10 == 0:
        print(f"{killed} kills, {len(jobs)} jobs, {len(ended)} done", flush=True)
done = cluster.wait_for_end(1200)
assert [job["id"] for job in done] == jobs and all(job["state"] == "done" for job in done), done
for number, job in enumerate(done):
    whole = train(*JOB, "--seed", number, "--workers", job["max_workers"], "--out", f"whole-{number}")
    assert whole["parameter_hash"] == cluster.hash_of(job["id"]), job
cluster.close()
print(f"{killed} kills, {len(jobs)} jobs: none lost, none twice, all bits as undisturbed, nothing left behind")
