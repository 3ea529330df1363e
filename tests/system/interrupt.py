#!/usr/bin/python3 -B
"""Ctrl-C ends the step, leaves a checkpoint and a summary, and the run goes on from there as if nothing had happened."""

import json
import pathlib
import signal
import subprocess
import time

from support.program import HOCKET, SMALL, rows, train

ARGUMENTS = [*SMALL, "--steps", "2000", "--log-every", "1"]


def interrupt(folder, number):
    process = subprocess.Popen([HOCKET, "train", *ARGUMENTS, "--json", "--out", folder],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not rows(folder):
        time.sleep(0.005)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, json.loads(out), err


code, result, err = interrupt("stopped", signal.SIGINT)
assert code == 130 and result["status"] == "interrupted", (code, result)
assert 0 < result["steps"] < 2000 and "--resume stopped" in err, err
assert json.loads(pathlib.Path("stopped/summary.json").read_text())["status"] == "interrupted"
assert pathlib.Path(f"stopped/checkpoints/step-{result['steps']:08}/manifest.json").exists()

code, result, err = interrupt("terminated", signal.SIGTERM)
assert code == 143, code

whole = train(*ARGUMENTS, "--out", "whole")
assert train("--resume", "stopped")["parameter_hash"] == whole["parameter_hash"]

# A second signal does not wait for the step, which takes seconds here.
slow = ["--model", "lenet", "--data", "synthetic:mnist,samples=3000", "--batch", "3000", "--dtype", "f64"]
process = subprocess.Popen([HOCKET, "train", *slow, "--out", "slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
while not pathlib.Path("slow/config.toml").exists():
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
time.sleep(0.1)
process.send_signal(signal.SIGINT)
process.communicate(timeout=5)
assert process.returncode == 130 and not pathlib.Path("slow/summary.json").exists()

# But for a SIGTERM soon after another: a batch system tells every process of a job to end, and a launcher its ranks.
slow = ["--model", "lenet", "--data", "synthetic:mnist,samples=60", "--batch", "48", "--steps", "1000", "--dtype", "f64"]
process = subprocess.Popen([HOCKET, "train", *slow, "--out", "told"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
while not pathlib.Path("told/config.toml").exists():
    time.sleep(0.01)
time.sleep(0.2)
process.send_signal(signal.SIGTERM)
time.sleep(0.1)
process.send_signal(signal.SIGTERM)
process.communicate(timeout=60)
assert process.returncode == 143 and pathlib.Path("told/summary.json").exists()
