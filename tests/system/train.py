#!/usr/bin/python3 -B
"""A run leaves its folder, says what it came to, and repeats bit for bit."""

import json
import os
import pathlib

from support.program import SMALL, output, refusal, train

KEYS = """model data workers servers mesh sync zero compress algorithm transport dtype seed emulated steps samples wall_seconds
train_seconds cpu_seconds compute_seconds comm_seconds wait_seconds samples_per_second test_accuracy test_loss
best_test_accuracy time_to_target bytes_sent messages_sent exposed_comm_fraction staleness peak_rss_bytes
parameter_hash version""".split()

first = train(*SMALL, "--epochs", 2, "--out", "first")
assert not [key for key in KEYS if key not in first], first
assert first["steps"] == 32 and first["samples"] == 4000 and first["test_accuracy"] > 0.9, first
assert len(first["ranks"]) == 1 and "wait_seconds" in first["ranks"][0], first

summary = json.loads(pathlib.Path("first/summary.json").read_text())
assert all(first[key] == value for key, value in summary.items())
for name in ("config.toml", "metrics.jsonl", "trace.json", "report.html", "checkpoints/step-00000032/manifest.json"):
    assert pathlib.Path("first", name).stat().st_size > 0, name
json.loads(pathlib.Path("first/trace.json").read_text())

assert train(*SMALL, "--epochs", 2, "--out", "again")["parameter_hash"] == first["parameter_hash"]
assert train(*SMALL, "--epochs", 2, "--seed", 2)["parameter_hash"] != first["parameter_hash"]
assert list(pathlib.Path("runs").glob("*-mlp-hidden=16-allreduce/summary.json"))

tested = json.loads(output("eval", "--run", "first", "--json", "--predict", "predictions.txt"))
assert tested["test_accuracy"] == first["test_accuracy"] and tested["test_loss"] == first["test_loss"], tested
predictions = pathlib.Path("predictions.txt").read_text().split()
assert len(predictions) == tested["samples"] and set(predictions) <= set("0123456789")

assert output("report", "first", "again", "--out", "both.html") == "both.html\n"
assert "again" in pathlib.Path("both.html").read_text()

assert "go on" not in output("train", *SMALL, "--quiet", "--epochs", 1)

# A part of a launcher's variables is no world of one, and a job has the workers that it has.
ranks = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
assert "rank 0 of 2" in refusal(2, "train", *SMALL, "--workers", 3, env=ranks)
del ranks["WORLD_SIZE"]
assert "WORLD_SIZE" in refusal(2, "train", *SMALL, env=ranks)
