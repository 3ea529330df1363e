#!/usr/bin/python3 -B
"""Jobs through a real Slurm of one machine: submitted, seen, suspended with a checkpoint, resumed to the same bits as an undisturbed
run, preempted, cancelled; and nothing is left behind."""

import json
import pathlib

from support.browser import skip
from support.jobs import wait_until
from support.program import SMALL, output, refusal, rows, train
from support.slurm import Slurm, find_trouble

TRAINING = ["--model", "mlp,hidden=512", *SMALL[2:], "--log-every", "10", "--eval-every", "100000"]
FOLDER = pathlib.Path("jobs of 'slurm'").resolve()


def ask(verb, *words, program=()):
    tail = ["--", *program] if program else []
    return json.loads(output("jobs", verb, *words, "--dir", FOLDER, "--backend", "slurm", "--json", *tail, env=slurm.environment))


def state(job):
    return ask("show", job)["state"]


def wait_for_state(job, wanted, seconds=60):
    wait_until(lambda: state(job) == wanted, seconds, lambda: (ask("show", job), ask("logs", job)["log"][-2000:]))


def has_trained(job, least):
    wait_until(lambda: len(rows(FOLDER / "jobs" / str(job) / "run")) > least, 60, lambda: ask("logs", job)["log"][-2000:])


def processes():
    """Those that train for the jobs of the folder."""
    found = []
    for pid in filter(lambda path: path.name.isdigit(), pathlib.Path("/proc").iterdir()):
        try:
            if str(FOLDER).encode() in (pid / "cmdline").read_bytes():
                found.append(pid.name)
        except OSError:
            pass
    return found


if trouble := find_trouble():
    assert "sbatch is not here" in refusal(2, "jobs", "submit", "--dir", "x", "--backend", "slurm", "--", *SMALL, env={"PATH": ""})
    skip(trouble)
slurm = Slurm("site")
if trouble := slurm.start():
    skip(trouble)

# Suspended and resumed, it ends with the bits of a run that nobody disturbed.
name = "it's; $(touch evil) \"x\""


def suspended_job(steps):
    """A job that was suspended after some of its steps, and after how many."""
    job = ask("submit", "--name", name, "--workers", "2", program=[*TRAINING, "--steps", steps])["id"]
    wait_for_state(job, "running")
    shown = ask("list")["jobs"]
    assert [(each["id"], each["name"], each["workers"], each["machine"]) for each in shown] == [(job, name, 2, "node")], shown
    has_trained(job, 5)
    ask("suspend", job)
    wait_for_state(job, "suspended")
    wait_until(lambda: not processes(), 10, processes)
    return job, rows(FOLDER / "jobs" / str(job) / "run")[-1]["step"]


for STEPS in (4000, 8000, 32000):  # A machine may be fast enough to end before it can be suspended.
    job, suspended_at = suspended_job(STEPS)
    if suspended_at < STEPS:
        break
    ask("cancel", job)
assert suspended_at < STEPS
assert "suspended" in refusal(2, "jobs", "retry", job, "--dir", FOLDER, "--backend", "slurm", env=slurm.environment)
ask("resume", job)
whole = train(*TRAINING, "--steps", STEPS, "--workers", 2, "--out", "whole")
wait_for_state(job, "done")
log = ask("logs", job)["log"]
assert log.count("[start ") == 2 and "resuming after step" in log, log[-3000:]
summary = json.loads((FOLDER / "jobs" / str(job) / "run" / "summary.json").read_text())
assert summary["parameter_hash"] == whole["parameter_hash"] and summary["steps"] == STEPS, summary

# Preempted by Slurm itself, which tells every process of the job to end, a job writes a checkpoint, too.
other = ask("submit", "--workers", "2", program=[*TRAINING, "--steps", 10**8])["id"]
wait_for_state(other, "running")
has_trained(other, 5)
assert slurm.call("scontrol", "requeue", str(other)).returncode == 0
wait_until(lambda: "resuming after step" in ask("logs", other)["log"], 60, lambda: ask("logs", other)["log"][-3000:])
ask("cancel", other)
wait_for_state(other, "cancelled")
assert "already" in refusal(2, "jobs", "cancel", other, "--dir", FOLDER, "--backend", "slurm", env=slurm.environment)

# What cannot be is told in one line; what fails is shown as failed.
bad = ask("submit", program=["--model", "no-such-model"])["id"]
wait_for_state(bad, "failed")
assert "no-such-model" in ask("logs", bad)["log"]
nowhere = {**slurm.environment, "SBATCH_PARTITION": "nowhere"}  # sbatch itself reads what a site wants to be told.
told = refusal(1, "jobs", "submit", "--dir", FOLDER, "--backend", "slurm", "--", *TRAINING, env=nowhere)
assert "sbatch failed: " in told and "artition" in told, told
assert "one number" in refusal(2, "jobs", "submit", "--dir", FOLDER, "--backend", "slurm", "--workers", "1:2", "--", *TRAINING)
assert "there is no job 999" in refusal(2, "jobs", "show", "999", "--dir", FOLDER, "--backend", "slurm", env=slurm.environment)
assert [each["id"] for each in ask("list", "--all")["jobs"]][-3:] == [job, other, bad] and ask("list")["jobs"] == []
wait_until(lambda: not processes(), 10, processes)
assert not pathlib.Path("evil").exists() and not (FOLDER / "evil").exists()
slurm.end()
assert "squeue" in refusal(1, "jobs", "list", "--dir", FOLDER, "--backend", "slurm", env=slurm.environment)
print(f"suspended after step {suspended_at} of {STEPS}; the bits are those of an undisturbed run")
