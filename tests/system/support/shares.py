"""Three jobs take turns on two slots."""

import time

from support.jobs import Cluster
from support.program import train

JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--log-every", "1000",
       "--eval-every", "100000"]
STEP = 0.01


def had_after(cluster, jobs, slot):
    """Slot seconds that each job has had after nine and after ten slots; `jobs` are submitted as the first begins."""
    time.sleep(slot - time.time() % slot)  # Slots end together, at whole multiples.
    began = time.time() // slot * slot
    for words in jobs:
        cluster.submit(words)
    had = []
    for count in (9, 10):
        time.sleep(max(0, began + count * slot - time.time()))
        had.append([job["worker_seconds"] for job in cluster.list()["jobs"]])
    return had


def share_slots(folder, slot):
    """The same of three jobs on two slots that all end with the bits of runs that were never suspended; None where the
    disk stood still for a while, as nothing can be decided without it."""
    steps = int(11 * 2 / 3 * slot / STEP)
    cluster = Cluster(folder, "--policy", "slots", "--slot", f"{slot}s")
    had = had_after(cluster, [[*JOB, "--emulate-compute", STEP, "--steps", steps, "--seed", seed] for seed in range(3)], slot)
    done = cluster.wait_for_end(20 * slot)
    assert all(job["state"] == "done" and job["attempts"] > 3 for job in done), done
    for seed, job in enumerate(done):
        whole = train(*JOB, "--steps", steps, "--seed", seed, "--out", f"{folder}-whole-{seed}")
        assert whole["parameter_hash"] == cluster.hash_of(job["id"]), f"{job}: not the bits of a run alone"
    cluster.close()
    return None if "the queue took" in cluster.log_text() else had


def shares(had):
    return [each / sum(had) for each in had]
