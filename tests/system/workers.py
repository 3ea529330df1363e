#!/usr/bin/python3 -B
"""Several workers train one model: as well as one, with the same bits however they talk, and they end together."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from support.program import HOCKET, SMALL, is_alive, refusal, rows, run, train
from support.ranks import free_port

MODEL = SMALL[:4]
LONG = [*MODEL, "--steps", "4000", "--epochs", "1000", "--log-every", "1", "--workers", "2"]


def start(*arguments):
    """A run in the background, once it has trained a few steps; and its workers."""
    process = subprocess.Popen([HOCKET, "train", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    folder = arguments[arguments.index("--out") + 1]
    while len(rows(folder)) < 20:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    workers = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if folder.encode() in words and any(each.startswith(b"HOCKET_RANK=") for each in variables):
            rank = next(int(each[12:]) for each in variables if each.startswith(b"HOCKET_RANK="))
            workers.append((rank, int(path.parent.name)))
    assert len(workers) == 2, workers
    return process, [pid for _, pid in sorted(workers)]


def expect_gone(workers):
    end = time.monotonic() + 3
    while any(map(is_alive, workers)):
        assert time.monotonic() < end, workers
        time.sleep(0.01)


# As good as one worker, with the same parameters by whatever transport, twice.
alone = train(*MODEL, "--epochs", 2, "--threads", 1)
two = train(*MODEL, "--epochs", 2, "--workers", 2, "--out", "two")
assert two["test_accuracy"] >= alone["test_accuracy"] - 0.02, (two, alone)
assert two["workers"] == 2 and two["mesh"] == "dp=2" and two["sync"] == "allreduce" and two["transport"] == "shm", two
assert two["steps"] == alone["steps"] and two["samples"] == alone["samples"], two
assert two["bytes_sent"] > two["steps"] * two["parameters"] * 4 and two["messages_sent"] > 0, two
assert len(two["ranks"]) == 2 and all(rank["compute_seconds"] > 0 < rank["comm_seconds"] for rank in two["ranks"]), two
for transport in ("shm", "tcp"):
    again = train(*MODEL, "--epochs", 2, "--workers", 2, "--transport", transport, "--reduce-order", "rank")
    assert again["transport"] == transport and again["parameter_hash"] == two["parameter_hash"], again
other = train(*MODEL, "--epochs", 2, "--workers", 3, "--algorithm", "ring", "--threads", 1)
assert other["algorithm"] == "ring" and other["test_accuracy"] >= alone["test_accuracy"] - 0.02, other

# Compressed gradients are fewer bytes, nearly as good, and the same bits twice.
for compress, share in (("bf16", 0.51), ("int8", 0.27), ("topk=0.1", 0.21)):
    less = train(*MODEL, "--epochs", 2, "--workers", 2, "--compress", compress)
    assert less["compress"] == compress and less["bytes_sent"] < share * two["bytes_sent"] + 100_000, less
    assert less["test_accuracy"] >= alone["test_accuracy"] - 0.05, less
    again = train(*MODEL, "--epochs", 2, "--workers", 2, "--compress", compress, "--transport", "tcp")
    assert again["parameter_hash"] == less["parameter_hash"], (again, less)
assert "compress zip is not none, bf16" in refusal(2, "train", *MODEL, "--workers", 2, "--compress", "zip")
line = refusal(2, "train", *MODEL, "--workers", 2, "--compress", "int8", "--zero", 1)
assert "gradients that are sharded travel whole" in line, line

# A job that is there already has as many workers as ranks, and one summary.
done = run("launch", "-n", 2, "--", HOCKET, "train", *MODEL, "--epochs", 2, "--json", "--quiet")
assert done.returncode == 0 and json.loads(done.stdout)["parameter_hash"] == two["parameter_hash"], done


def torchrun(rank, port, *arguments):
    variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return subprocess.Popen([HOCKET, "train", *MODEL, "--epochs", "2", "--json", "--quiet", *arguments], text=True,
                            env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


port = str(free_port())
ranks = [torchrun(rank, port) for rank in range(2)]
outs = [process.communicate(timeout=60) for process in ranks]
assert [process.returncode for process in ranks] == [0, 0] and outs[1] == ("", ""), outs
assert json.loads(outs[0][0])["parameter_hash"] == two["parameter_hash"], outs

if shutil.which("mpirun"):
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", HOCKET, "train", *MODEL, "--epochs", "2", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["parameter_hash"] == two["parameter_hash"], done

# Workers that were started with different settings do not begin.
ranks = [torchrun(rank, port, "--seed", str(rank + 1)) for rank in range(2)]
outs = [process.communicate(timeout=60) for process in ranks]
assert ranks[0].returncode == 2 and "rank 1 has seed '2' and rank 0 has '1'" in outs[0][1], outs

# What is wrong on all workers is said once.
assert "nonsense" in refusal(2, "train", "--model", "nonsense", "--data", SMALL[3], "--workers", 2)
assert "rank order" in refusal(2, "train", *MODEL, "--workers", 2, "--algorithm", "ring", "--reduce-order", "rank")
assert "4 ranks" in refusal(2, "train", *MODEL, "--workers", 2, "--mesh", "dp=4")
assert "holds a run" in refusal(2, "train", *MODEL, "--workers", 2, "--out", "two")
assert run("train", *MODEL, "--workers", 2, "--quiet", "--steps", 2, "--target-accuracy", 1).returncode == 5

# A worker that is killed ends the run at once, and is named.
for victim in (0, 1):
    folder = f"killed-{victim}"
    process, workers = start(*LONG, "--out", folder)
    os.kill(workers[victim], signal.SIGKILL)
    since = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4 and f"rank {victim} (pid {workers[victim]}" in err, (process.returncode, err)
    assert time.monotonic() - since < 3, time.monotonic() - since
    expect_gone(workers)

# Ctrl-C ends all workers with the same step and a checkpoint, from which they, or others, go on.
process, workers = start(*LONG, "--json", "--out", "stopped")
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=30)
result = json.loads(out)
assert process.returncode == 130 and result["status"] == "interrupted", (process.returncode, err)
assert err.count("stopping after this step") == 1 and "--resume stopped" in err, err
assert pathlib.Path(f"stopped/checkpoints/step-{result['steps']:08}/manifest.json").exists(), result
expect_gone(workers)
whole = train(*LONG, "--out", "whole")
assert train("--resume", "stopped")["parameter_hash"] == whole["parameter_hash"]
longer = train("--resume", "stopped", "--workers", 3, "--steps", whole["steps"] + 10)
assert longer["workers"] == 3 and longer["steps"] == whole["steps"] + 10, longer
