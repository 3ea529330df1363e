#!/usr/bin/python3 -B
# deepfm beats logreg on the census table, alone and from a parameter server's tables, and `hocket eval` agrees on the area.
import json
import os
import subprocess
import sys

hocket = os.environ["HOCKET"]
folder = os.path.join(os.environ.get("HOCKET_TEST_DATA", ""), "ctr")
if not os.path.exists(os.path.join(folder, "adult.data")):
    print("skipped: ctr/adult.data is not in HOCKET_TEST_DATA")
    sys.exit(77)


def run(*words):
    done = subprocess.run([hocket, *words, "--json", "--quiet"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def auc(model, out, *words):
    return run("train", "--model", model, "--data", f"csv:{folder}/adult.data,header=no", "--test-data",
               f"csv:{folder}/adult.test,header=no", "--epochs", "4", "--optimizer", "adagrad", "--lr", "0.05", "--out", out,
               *words)["test_auc"]


servers = ("--sync", "ps:bsp", "--workers", "2", "--servers", "2")
linear, factors = auc("logreg", "linear"), auc("deepfm", "factors")
assert linear > 0.89 and factors > linear + 0.003, (linear, factors)
assert abs(auc("logreg", "linear-servers", *servers) - linear) < 1e-3
assert abs(auc("deepfm", "factors-servers", *servers) - factors) < 2e-3
assert run("eval", "--run", "factors")["test_auc"] == factors
