#!/usr/bin/python3 -B
"""Workers and servers: what the disciplines have in common with all-reduce, what they do with the slow and the dead."""

import json
import os
import signal
import subprocess
import time

from support.nodes import expect_gone, nodes_of
from support.program import HOCKET, SMALL, refusal, rows, run, train

MODEL = SMALL[:4]
THREE = ["--workers", 3, "--servers", 2, "--threads", 1]


def start(folder, *arguments):
    """A run in the background, once it has trained a few steps; and its nodes."""
    words = [HOCKET, "train", *map(str, arguments), "--log-every", "1", "--out", folder, "--json", "--quiet"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(rows(folder)) < 5:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    return process, nodes_of(folder)


# bsp sums the slices in rank order, as all-reduce does: the same bits. So does kofn with k = n, and ssp with s = 0.
by_all = train(*MODEL, "--epochs", 2, "--workers", 3, "--threads", 1, "--reduce-order", "rank")
for sync in ("ps:bsp", "ps:kofn,k=3", "ps:ssp,s=0"):
    by_servers = train(*MODEL, "--epochs", 2, *THREE, "--sync", sync)
    assert by_servers["parameter_hash"] == by_all["parameter_hash"], (sync, by_servers, by_all)
    assert by_servers["sync"] == sync and by_servers["workers"] == 3 and by_servers["servers"] == 2, by_servers
    assert by_servers["steps"] == by_all["steps"] and by_servers["samples"] == by_all["samples"], by_servers
    assert by_servers["test_accuracy"] == by_all["test_accuracy"], by_servers
    assert by_servers["staleness"] == 0 and len(by_servers["ranks"]) == 3, by_servers

# The others train as well, at a rate at which gradients of three or four updates ago do no harm, and say how old theirs
# were.
for sync in ("ps:asp", "ps:asp,ahead=1", "ps:ssp,s=3", "ps:kofn,k=2", "ps:softsync,n=3,rate=staleness", "downpour,nfetch=2,npush=2"):
    other = train(*MODEL, "--epochs", 2, "--lr", 0.01, *THREE, "--sync", sync)
    assert other["test_accuracy"] >= by_all["test_accuracy"] - 0.05, (sync, other)
    applied = sum(rank["gradients_applied"] for rank in other["ranks"])
    assert applied > 0 and all(rank["staleness"] >= 0 for rank in other["ranks"]), other

# A worker that dies under bsp has its slices taken over by the others, with the same bits in the end.
LONG = [*MODEL, "--steps", "1500", "--epochs", "1000"]
process, nodes = start("dies", *LONG, *THREE, "--sync", "ps:bsp")
os.kill(nodes[4], signal.SIGKILL)
out, err = process.communicate(timeout=120)
assert process.returncode == 0 and "worker 0 was killed by signal 9" in err and "the others go on" in err, err
undisturbed = train(*LONG, *THREE, "--sync", "ps:bsp")
assert json.loads(out)["parameter_hash"] == undisturbed["parameter_hash"], (out, undisturbed)
expect_gone(nodes.values())

# With --restarts it comes back; asp does not wait for it either way.
process, nodes = start("back", *LONG, *THREE, "--sync", "ps:asp", "--restarts", 1)
os.kill(nodes[5], signal.SIGKILL)
out, err = process.communicate(timeout=120)
assert process.returncode == 0 and "it is started again" in err, err

# So do those that have rows of tables, for the batch that the others are at.
TABLE = ["--model", "logreg", "--data", "synthetic:sparse,samples=2000,features=100000,nonzeros=20", "--steps", 1500, "--epochs", 1000]
for sync in ("ps:bsp", "ps:asp,ahead=1", "ps:kofn,k=2"):
    process, nodes = start("rows-" + sync[3:6], *TABLE, *THREE, "--sync", sync, "--restarts", 1)
    os.kill(nodes[5], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and err.count("it is started again") == 1, (sync, err)
    assert len(json.loads(out)["ranks"]) == 3, (sync, out)

# Without replicas a dead server ends the run, in one line; with them, nobody minds, nor the coordinator's death.
process, nodes = start("lost", *LONG, *THREE, "--sync", "ps:bsp")
os.kill(nodes[2], signal.SIGKILL)
out, err = process.communicate(timeout=60)
assert process.returncode == 4 and "server 0 was killed by signal 9" in err, (process.returncode, err)
expect_gone(nodes.values())
process, nodes = start("anew", *LONG, *THREE, "--sync", "ps:bsp", "--checkpoint-every", 20, "--restarts", 1)
os.kill(nodes[2], signal.SIGKILL)
out, err = process.communicate(timeout=60)
assert process.returncode == 0 and "starting all nodes anew" in err, (process.returncode, err)
assert json.loads(out)["parameter_hash"] == undisturbed["parameter_hash"], (out, undisturbed)
for victim in (1, 2, 3):
    folder = f"replicas-{victim}"
    process, nodes = start(folder, *LONG, *THREE, "--replicas", 2, "--sync", "ps:bsp")
    os.kill(nodes[victim], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["parameter_hash"] == undisturbed["parameter_hash"], (victim, err)
    expect_gone(nodes.values())

# An interrupted run goes on where it was.
process, nodes = start("half", *LONG, *THREE, "--sync", "ps:bsp")
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=60)
assert process.returncode == 130 and 0 < json.loads(out)["steps"] < 1500, (process.returncode, out, err)
expect_gone(nodes.values())
resumed = train("--resume", "half")
assert resumed["parameter_hash"] == undisturbed["parameter_hash"], (resumed, undisturbed)

# A target ends the run with the parameters that reached it.
reached = train(*MODEL, "--epochs", 50, "--eval-every", 5, "--target-accuracy", 0.9, *THREE, "--sync", "ps:asp")
assert reached["test_accuracy"] >= 0.9 and reached["time_to_target"] > 0 and reached["steps"] < 800, reached

# Words for what cannot be.
assert "--zero does not go with --sync ps:bsp" in refusal(2, "train", *MODEL, *THREE, "--sync", "ps:bsp", "--zero", 1)
assert "did you mean" in refusal(2, "train", *MODEL, *THREE, "--sync", "ps:bps")
assert "ahead=1" in refusal(2, "train", *MODEL, *THREE, "--sync", "ps:ssp,s=0,ahead=1")
assert "--replicas 3" in refusal(2, "train", *MODEL, *THREE, "--sync", "ps:asp", "--replicas", 3)
assert "by servers" in refusal(2, "train", *MODEL, *THREE, "--sync", "ps:asp", "--explain")
assert run("train", *MODEL, *THREE, "--sync", "ps:kofn,k=4").returncode == 2

# Emulated links are slow for servers as well: a batch needs two messages of 20 ms at least.
SLOW = ["--emulate-net", "uniform:alpha=20ms,bandwidth=1Gbit", "--steps", 20, "--out", "slow"]
slow = train(*MODEL, *THREE, "--sync", "ps:bsp", *SLOW)
assert slow["emulated"] and slow["train_seconds"] > 20 * 0.04, slow
assert slow["parameter_hash"] == train(*MODEL, *THREE, "--sync", "ps:bsp", "--steps", 20)["parameter_hash"], slow
assert not os.path.exists("slow/links")

# A run whose worker fails says so in its folder.
assert "not finite" in refusal(1, "train", *MODEL, *THREE, "--sync", "ps:asp", "--lr", "1e30", "--steps", 50, "--out", "failed")
with open("failed/summary.json", encoding="utf-8") as file:
    assert json.load(file)["status"] == "failed"
