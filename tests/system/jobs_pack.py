#!/usr/bin/python3 -B
"""Two jobs share the slots of a machine with one core: they stay together where both keep their pace, and are parted where
their throughput says that it does not pay."""

import os

from support.jobs import Cluster, wait_until

JOB = ["--model", "mlp,hidden=128", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--eval-every", "100000",
       "--steps", "1000000"]

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def share(folder, workers, *words):
    """Whether two such jobs stay together once throughput has been measured."""
    cluster = Cluster(folder, "--policy", "pack", agents=(("a", workers),))
    first = cluster.submit([*JOB, *words], "--workers", workers)
    wait_until(lambda: cluster.job(first)["samples_per_second_alone"], 30, lambda: cluster.job(first))
    second = cluster.submit([*JOB, *words], "--workers", workers)
    wait_until(lambda: cluster.job(second)["workers"] == workers, 20, lambda: cluster.job(second))
    pace = wait_until(lambda: parted(cluster, second) or cluster.job(first)["pace"], 60, lambda: cluster.list())
    return cluster, second, pace


def parted(cluster, job):
    return cluster.job(job)["state"] in ("stopping", "waiting")


def end(cluster):
    for job in (1, 2):
        cluster.ask("cancel", job)
    cluster.wait_for_end()
    cluster.close()


cluster, second, pace = share("patient", 1, "--emulate-compute", "0.1", "--log-every", "10")
assert pace > 0.6 and not parted(cluster, second), pace
end(cluster)
cluster, second, pace = share("busy", 4, "--log-every", "200")
wait_until(lambda: parted(cluster, second), 60, lambda: cluster.list())
end(cluster)
