#!/usr/bin/python3 -B
"""L-BFGS with its vectors on servers: the same bits however many nodes there are, whoever is slow, and when a worker dies."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET, refusal, rows, train

MODEL = ["--model", "logreg,c=1,bias=0", "--data", "synthetic:sparse,samples=4000,features=200"]
RUN = [*MODEL, "--sync", "sandblaster", "--threads", 1, "--steps", 30]
FOUR = ["--workers", 4, "--servers", 2]
HISTORY = 10


def pid_of(folder, rank):
    """The process of a node: the recorder is 0, the coordinator 1; then come the servers, then the workers."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if folder.encode() in words and f"HOCKET_RANK={rank}".encode() in variables:
            return int(path.parent.name)
    return None


def killed(folder, rank, *arguments):
    """Exit code, output and complaints of a run of which that node is killed after a few steps."""
    words = [HOCKET, "train", *map(str, arguments), "--emulate-compute", "0.002", "--out", folder, "--json", "--quiet"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(rows(folder)) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(pid_of(folder, rank), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def expect_same(one, other):
    assert other["parameter_hash"] == one["parameter_hash"] and other["objective"] == one["objective"], (one, other)
    assert other["train_loss"] == one["train_loss"] and other["steps"] == one["steps"], (one, other)


def expect_scalars_alone(done):
    counts = done["sandblaster"]
    assert counts["evaluations"] >= done["steps"] > 0 and counts["tasks"] >= 64 * counts["evaluations"], done
    assert counts["coordinator_bytes"] < 1024 * HISTORY * done["steps"], done


one = train(*RUN, "--workers", 1, "--servers", 1, "--out", "one")
four = train(*RUN, *FOUR, "--out", "four")
assert four["sync"] == "sandblaster" and four["workers"] == 4 and four["servers"] == 2, four
expect_same(one, four)
expect_scalars_alone(one)
losses = [row["loss"] for row in rows("four") if row.get("kind", "train") == "train"]
assert losses == sorted(losses, reverse=True), losses

# It comes as low as many epochs of gradient descent. Tests and checkpoints on the way change nothing.
sgd = train(*MODEL, "--epochs", 30, "--optimizer", "sgd", "--lr", 0.5, "--lr-schedule", "cosine", "--threads", 1)
assert one["objective"] < 1.01 * sgd["objective"], (one["objective"], sgd["objective"])
expect_same(one, train(*RUN, *FOUR, "--eval-every", 3, "--checkpoint-every", 7, "--out", "saved"))
assert len(list(pathlib.Path("saved/checkpoints").glob("step-*"))) == 2

# Neither a slow worker nor a dead one changes a bit, nor one that comes back.
expect_same(one, train(*RUN, *FOUR, "--slow", "1=10"))
for restarts in (0, 1):
    code, out, err = killed(f"worker-{restarts}", 5, *RUN, *FOUR, "--restarts", restarts)
    assert code == 0 and "worker 1 was killed" in err, (code, err)
    assert ("started again" if restarts else "the others go on") in err, err
    expect_same(one, json.loads(out))

# What a server or the coordinator knows, nobody else does.
for rank, name in ((2, "server 0"), (1, "coordinator")):
    code, out, err = killed(f"lost-{rank}", rank, *RUN, *FOUR)
    assert code == 4 and name in err and "the run cannot go on" in err and len(err.splitlines()) == 1, (code, err)

assert "--replicas does not go with" in refusal(2, "train", *RUN, "--servers", 2, "--replicas", 2)
assert "finds its own steps" in refusal(2, "train", *RUN, "--lr", 0.1)
assert "as it is L-BFGS" in refusal(2, "train", *RUN, "--optimizer", "adam")
assert "is more than" in refusal(2, "train", *RUN, "--sync", "sandblaster,history=1000")

# Running statistics are those of the point that is tested.
IMAGES = ["--model", "resnet,depth=8", "--data", "synthetic:3x8x8:3:192", "--sync", "sandblaster,portions=4", "--steps", 12,
          "--batch", 48, "--threads", 1]
images = train(*IMAGES, "--workers", 2)
assert images["test_loss"] < images["train_loss"] + 0.2 and images["train_loss"] < 0.5, images
assert train(*IMAGES, "--workers", 1)["test_loss"] == images["test_loss"], images

# One of four workers is ten times slower: ideally they are as fast as 3.1.
TIMED = [*RUN, *FOUR, "--steps", 8, "--emulate-compute", 0.01]
even = train(*TIMED)
slow = train(*TIMED, "--slow", "1=10")
ratio = slow["train_seconds"] / (even["train_seconds"] * 4 / 3.1)
print(f"a worker that is 10 times slower costs {ratio:.2f} of the ideal time "
      f"({slow['sandblaster']['backup_portions']} of {slow['sandblaster']['tasks']} portions were backups)")
assert slow["sandblaster"]["backup_portions"] > 0 and ratio < 1.6, (ratio, even, slow)

a9a = pathlib.Path(os.environ.get("HOCKET_TEST_DATA", "")) / "sparse" / "a9a"
if a9a.exists():
    REAL = ["--model", "logreg,c=1,bias=0", "--data", f"libsvm:{a9a}", "--test-data", f"libsvm:{a9a}.t",
            "--sync", "sandblaster", "--threads", 1, "--steps", 100]
    one = train(*REAL, "--workers", 1, "--servers", 1)
    four = train(*REAL, *FOUR)
    expect_same(one, four)
    expect_scalars_alone(four)
    assert four["test_accuracy"] > 0.849, four
    print(f"a9a: objective {four['objective']:.3f} after {four['steps']} steps, {four['test_accuracy']:.2%} on a9a.t, "
          f"{four['sandblaster']['coordinator_bytes'] / four['steps']:.0f} bytes a step at the coordinator")
