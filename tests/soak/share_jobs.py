#!/usr/bin/python3 -B
"""Three jobs share two slots and end with the bits of runs that were never suspended; coordinator, agents and jobs
are killed and no job is lost; what cannot be is refused in one line."""

import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("HOCKET", str(pathlib.Path(sys.argv[1]).resolve()))
os.environ.setdefault("HOCKET_SOURCE", str(pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from support.jobs import Cluster, check_never_twice, wait_until  # noqa: E402
from support.program import HOCKET, train  # noqa: E402
from support.shares import JOB, had_after, shares  # noqa: E402

os.chdir(tempfile.mkdtemp())


@functools.cache
def whole(steps, seed):
    return train(*JOB, "--steps", steps, "--seed", seed, "--out", f"whole-{steps}-{seed}")["parameter_hash"]


# Ten slots of jobs that compute all the time, and so are slower to stop and to start when the machine is busy.
SLOT = 6
cluster = Cluster("shares", "--policy", "slots", "--slot", f"{SLOT}s")
nine, ten = had_after(cluster, [[*JOB, "--steps", "1000000", "--seed", str(seed)] for seed in range(3)], SLOT)
for number in (1, 2, 3):
    cluster.ask("cancel", number)
assert {job["state"] for job in cluster.wait_for_end()} == {"cancelled"}
print("shares of three jobs on two slots:", *([f"{share:.3f}" for share in shares(had)] for had in (nine, ten)))
if "the queue took" not in cluster.log_text():  # Without the disk nothing can be decided.
    assert all(abs(3 * share - 1) <= 0.05 for share in shares(nine)), nine
    assert all(abs(share - 1 / 3) <= 0.05 for share in shares(ten)), ten
for number in (1, 2, 3):
    steps = json.loads((cluster.folder / "jobs" / str(number) / "run" / "summary.json").read_text())["steps"]
    assert cluster.hash_of(number) == whole(steps, number - 1), f"job {number} after {steps} steps"
cluster.close()

cluster = Cluster("bits", "--policy", "slots", "--slot", "1s")
jobs = [cluster.submit([*JOB, "--steps", "6000", "--seed", str(seed)]) for seed in range(3)]
done = cluster.wait_for_end()
assert all(job["state"] == "done" for job in done), done
assert sum(job["attempts"] for job in done) > 3, "none was suspended"
assert [cluster.hash_of(number) for number in jobs] == [whole(6000, seed) for seed in range(3)]
cluster.close()

# Kills.
rng = random.Random(0)
cluster = Cluster("kills", "--policy", "slots", "--slot", "2s", agents=(("a", 1), ("b", 1)))
steps = 6000
jobs = [cluster.submit([*JOB, "--steps", steps, "--seed", str(seed), "--checkpoint-every", "500"]) for seed in range(3)]
running = wait_until(cluster.processes, 20)
cluster.kill("server", rng)
assert running.items() & cluster.processes().items() or not cluster.processes(), "jobs noticed the coordinator's restart"
for what in ("job", "agent", "server", "job", "agent"):
    time.sleep(rng.uniform(0.2, 1))
    cluster.kill(what, rng)
    check_never_twice(cluster)
done = cluster.wait_for_end()
assert [job["state"] for job in done] == ["done"] * 3, done
assert [cluster.hash_of(number) for number in jobs] == [whole(steps, seed) for seed in range(3)]

# Refusals, each one line that names what is wrong.
for words, expected in ((["submit", "--workers", "3", "--", *JOB], "the largest machine has 1 slots"),
                        (["submit", "--", "--workers", "2"], "--workers is the scheduler's to give"),
                        (["show", "99"], "there is no job 99"), (["cancel", str(jobs[0])], "is done already")):
    refused = cluster.call(*words)
    assert refused.returncode == 2 and expected in refused.stderr and refused.stderr.count("\n") == 1, refused
bad = cluster.submit(["--model", "nonsense"])
job = wait_until(lambda: (j := cluster.job(bad))["ended"] and j, 30)
assert job["state"] == "failed" and "nonsense" in job["reason"], job
twice = subprocess.run([HOCKET, "jobs", "serve", "--dir", "kills"], capture_output=True, text=True)
assert twice.returncode == 2 and "runs already" in twice.stderr, twice
cluster.close()
nobody = subprocess.run([HOCKET, "jobs", "list", "--dir", "kills"], capture_output=True, text=True)
assert nobody.returncode == 4 and "does not answer" in nobody.stderr, nobody
assert (pathlib.Path("kills") / "key").stat().st_mode & 0o77 == 0
