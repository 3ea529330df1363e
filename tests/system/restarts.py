#!/usr/bin/python3 -B
"""Workers of which one is killed start anew from the newest checkpoint, and end as if nothing had happened."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET, SMALL, is_alive, rows, train

ARGUMENTS = [*SMALL[:4], "--steps", "160", "--epochs", "100", "--log-every", "1", "--checkpoint-every", "5",
             "--workers", "2"]


def shared_memory():
    return {path.name for path in pathlib.Path("/dev/shm").iterdir()}


def workers_of(folder):
    """The processes that train in this folder, by rank."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = dict(each.split(b"=", 1) for each in path.read_bytes().split(b"\0") if b"=" in each)
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"HOCKET_RANK" in variables and any(word.endswith(folder.encode()) for word in words):
            found[int(variables[b"HOCKET_RANK"])] = int(path.parent.name)
    return found


def start(*arguments, cwd="."):
    return subprocess.Popen([HOCKET, "train", *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, cwd=cwd)


def kill_after(process, folder, step, rank):
    """Kills a worker once the run has passed a step, and returns the workers there were."""
    while not any(row["step"] > step for row in rows(folder)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    workers = workers_of(pathlib.Path(folder).name)
    os.kill(workers[rank], signal.SIGKILL)
    return workers


def expect_nothing_left(folder, workers):
    assert not any(map(is_alive, workers.values())), workers
    assert not workers_of(pathlib.Path(folder).name)
    assert not list(pathlib.Path(folder).glob("checkpoints/.tmp-*"))


whole = train(*ARGUMENTS, "--out", "whole")
assert whole["restarts"] == 0, whole
memory = shared_memory()

# Whichever worker is killed, also twice, and before there is any checkpoint.
for folder, kills in (("first", [(20, 0)]), ("second", [(37, 1)]), ("twice", [(20, 1), (90, 0)]), ("early", [(1, 1)])):
    process = start(*ARGUMENTS, "--restarts", str(len(kills)), "--out", folder)
    for step, rank in kills:
        workers = kill_after(process, folder, step, rank)
    out, err = process.communicate(timeout=60)
    result = json.loads(out)
    assert process.returncode == 0 and result["parameter_hash"] == whole["parameter_hash"], (folder, err)
    assert result["restarts"] == len(kills) and result["test_loss"] == whole["test_loss"], result
    assert json.loads((pathlib.Path(folder) / "summary.json").read_text())["restarts"] == len(kills)
    assert f"starting all 2 workers anew from the newest checkpoint (restart 1 of {len(kills)})" in err, err
    steps = [row["step"] for row in rows(folder) if row["kind"] == "train"]
    assert steps == list(range(1, 161)), steps
    expect_nothing_left(folder, workers)

# Once too often.
process = start(*ARGUMENTS, "--restarts", "1", "--out", "often")
kill_after(process, "often", 20, 0)
workers = kill_after(process, "often", 60, 1)
_, err = process.communicate(timeout=60)
assert process.returncode == 4 and f"rank 1 (pid {workers[1]}" in err, (process.returncode, err)
assert not any(map(is_alive, workers.values())), workers

# Without --out, in the folder that the run has made.
pathlib.Path("elsewhere").mkdir()
process = start(*ARGUMENTS, "--restarts", "1", cwd="elsewhere")
while not list(pathlib.Path("elsewhere").glob("runs/*")):
    assert process.poll() is None, process.communicate()
    time.sleep(0.002)
folder, = pathlib.Path("elsewhere").glob("runs/*")
workers = kill_after(process, folder, 20, 1)
out, err = process.communicate(timeout=60)
assert process.returncode == 0 and json.loads(out)["parameter_hash"] == whole["parameter_hash"], err
assert list(pathlib.Path("elsewhere").glob("runs/*")) == [folder], list(pathlib.Path("elsewhere").glob("runs/*"))
expect_nothing_left(folder, workers)

# What would only fail again, or was asked for, is not tried again.
DOOMED = [(2, ["--model", "nonsense"]), (3, ["--data", "libsvm:/nowhere"]), (1, ["--lr", "1e30", "--optimizer", "sgd"])]
for code, arguments in DOOMED:
    process = start(*ARGUMENTS, "--restarts", "3", *arguments)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code and "anew" not in err, (process.returncode, err)
assert len(list(pathlib.Path("runs").glob("*"))) == 1, "only the run that had begun leaves its folder"
process = start(*ARGUMENTS, "--restarts", "3", "--out", "stopped")
while len(rows("stopped")) < 20:
    time.sleep(0.002)
process.send_signal(signal.SIGINT)
_, err = process.communicate(timeout=60)
assert process.returncode == 130 and "anew" not in err, (process.returncode, err)

assert shared_memory() <= memory, shared_memory() - memory

# So does a pipeline of which a stage is killed, also one whose stages stream from batch to batch: it drains before it saves.
for schedule in ("1f1b", "pipedream"):
    pipeline = [*ARGUMENTS[:-2], "--mesh", "pp=2", "--microbatches", "2", "--schedule", schedule]
    whole = train(*pipeline, "--out", schedule)
    for rank in (0, 1):
        folder = f"{schedule}-{rank}"
        process = start(*pipeline, "--restarts", "1", "--out", folder)
        workers = kill_after(process, folder, 60, rank)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        again = json.loads(output)
        assert again["restarts"] == 1 and again["parameter_hash"] == whole["parameter_hash"], (again, whole, errors)
        expect_nothing_left(folder, workers)

# A stream that is interrupted drains in all stages after the same batch, saves, and can go on.
process = start(*ARGUMENTS[:4], "--steps", "100000", "--epochs", "10000", "--eval-every", "100000", "--log-every", "1", "--mesh", "pp=2",
                "--microbatches", "2", "--schedule", "pipedream", "--out", "stream")
while not any(row["step"] > 60 for row in rows("stream")):
    assert process.poll() is None, process.communicate()
    time.sleep(0.002)
os.kill(workers_of("stream")[1], signal.SIGINT)
_, err = process.communicate(timeout=60)
steps = [int(path.name[5:]) for path in pathlib.Path("stream/checkpoints").glob("step-*")]
assert process.returncode == 130 and len(steps) == 1 and steps[0] > 60, (process.returncode, steps, err)
again = train(*ARGUMENTS[:4], "--steps", steps[0] + 20, "--epochs", "10000", "--eval-every", "100000", "--mesh", "pp=2",
              "--microbatches", "2", "--schedule", "pipedream", "--out", "stream", "--resume")
assert again["steps"] == steps[0] + 20, again
