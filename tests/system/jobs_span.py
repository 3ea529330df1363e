#!/usr/bin/python3 -B
"""A job on two machines at once: it is suspended and resumed, loses a machine's agent and a worker, and ends with the bits of a
run that nobody disturbed; one that may not span is refused."""

import random
import time

from support.jobs import Cluster, check_never_twice, wait_until
from support.program import train

JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--log-every", "1000",
       "--eval-every", "100000", "--checkpoint-every", "100", "--batch", "96", "--emulate-compute", "0.01"]
rng = random.Random(0)

cluster = Cluster("cluster", "--policy", "slots", "--slot", "3s", agents=(("a", 2), ("b", 1)))
refused = cluster.call("submit", "--workers", "3", "--", *JOB)
assert refused.returncode == 2 and "wants 3 workers on one machine; the largest machine has 2" in refused.stderr, refused
refused = cluster.call("submit", "--workers", "4", "--span", "--", *JOB)
assert refused.returncode == 2 and "all machines together have 3 slots" in refused.stderr, refused
wide = cluster.submit([*JOB, "--steps", "1500"], "--workers", "3", "--span")
trains = lambda: len([pid for pid in cluster.processes() if "train" in open(f"/proc/{pid}/cmdline").read()]) >= 3  # noqa: E731
wait_until(trains, 30)
assert sorted(cluster.job(wide)["machines"]) == ["a", "b"], cluster.job(wide)
small = cluster.submit([*JOB, "--steps", "300"])
wait_until(lambda: cluster.job(small)["state"] == "running", 30, lambda: cluster.list())  # The wide one is suspended.
wait_until(lambda: cluster.job(small)["ended"], 60, lambda: cluster.list())
for what in ("job", "agent", "server", "agent"):
    wait_until(cluster.processes, 30)
    time.sleep(rng.uniform(0.5, 1.5))
    cluster.kill(what, rng)
    check_never_twice(cluster)
done = cluster.wait_for_end(120)
assert [job["state"] for job in done] == ["done", "done"], done
alone = train(*JOB[:-2], "--steps", "1500", "--workers", 3, "--out", "alone")
assert alone["parameter_hash"] == cluster.hash_of(wide)
print([(job["name"], job["attempts"], job["restarts"]) for job in done])
cluster.close()
