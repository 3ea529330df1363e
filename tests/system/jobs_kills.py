#!/usr/bin/python3 -B
"""A running job does not notice that the coordinator is killed and comes back; when jobs and agents are killed, too, none
is lost, none runs twice at once, and all end with the bits of runs that nobody disturbed."""

import random
import time

from support.jobs import Cluster, check_never_twice, wait_until
from support.program import train

JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--log-every", "1000",
       "--eval-every", "100000", "--checkpoint-every", "100"]
PACE = ["--emulate-compute", "0.01"]
rng = random.Random(0)

cluster = Cluster("undisturbed", "--policy", "fifo")
job = cluster.submit([*JOB, *PACE, "--steps", 400])
running = wait_until(cluster.processes, 20)
for _ in range(3):
    cluster.kill("server", rng)
    assert cluster.processes() == running, "the job noticed that the coordinator was killed"
done = cluster.wait_for_end(60)
assert [(each["state"], each["attempts"]) for each in done] == [("done", 1)], done
cluster.close()

cluster = Cluster("kills", "--policy", "slots", "--slot", "2s", agents=(("a", 1), ("b", 2)))
jobs = [cluster.submit([*JOB, *PACE, "--steps", 400, "--seed", seed], "--workers", 1 + seed % 2) for seed in range(4)]
for what in ("job", "agent", "server", "job", "agent", "server"):
    time.sleep(rng.uniform(0.2, 1))
    cluster.kill(what, rng)
    check_never_twice(cluster)
done = cluster.wait_for_end(120)
assert [each["state"] for each in done] == ["done"] * 4, done
for seed, number in enumerate(jobs):
    alone = train(*JOB, "--steps", 400, "--seed", seed, "--workers", 1 + seed % 2, "--out", f"alone-{seed}")
    assert alone["parameter_hash"] == cluster.hash_of(number), f"job {number} does not have the bits of a run alone"
cluster.close()
