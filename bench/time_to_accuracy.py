#!/usr/bin/env python3
"""Seconds of training until lenet has 90 % of Fashion-MNIST's test images right: Hocket beside PyTorch's DDP.

    /usr/bin/python3 bench/time_to_accuracy.py build/hocket [--seeds 5] [--eval-every 0] [--json FILE]

Two workers of one thread each, the same model, batch, rate and tests on both sides; runs take turns. PyTorch runs with
the settings that torch_step.py finds to be the fastest here.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKERS, BATCH, RATE, EPOCHS = 2, 128, 0.05, 8


def start(script, core, *arguments):
    command = [sys.executable, os.path.join(HERE, script), "lenet", "1", *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            preexec_fn=lambda: os.sched_setaffinity(0, {core}))


def start_workers(script, capability, settings, *arguments):
    meeting = os.path.join(tempfile.mkdtemp(), "store")
    return [start(script, rank, capability, ",".join(settings), rank, WORKERS, meeting, *arguments)
            for rank in range(WORKERS)]


def ask(process, steps):
    print(steps, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def fastest_settings():
    """The vector set of torch's kernels, by alternating rounds, and the settings of one process and of several."""
    kinds = ["avx2", "avx512"] if "avx512f" in open("/proc/cpuinfo").read() else ["avx2"]
    alone = [start("torch_step.py", 0, kind) for kind in kinds]
    chosen = [json.loads(process.stdout.readline())["settings"] for process in alone]
    rounds = [[ask(process, 10) for process in alone] for _ in range(7)]
    medians = [statistics.median(column) for column in zip(*rounds)]
    best = medians.index(min(medians))
    for process in alone:
        process.communicate()
    workers = start_workers("torch_step.py", kinds[best], chosen[best])
    found = [json.loads(process.stdout.readline()) for process in workers]
    for process in workers:
        process.communicate()
    return kinds[best], found[0]["settings"]


def run_torch(capability, settings, seed, eval_every):
    workers = start_workers("torch_train.py", capability, settings, seed, BATCH, RATE, EPOCHS, eval_every, 0.9)
    return json.loads([process.communicate()[0] for process in workers][0])


def run_hocket(program, seed, eval_every):
    out = os.path.join(tempfile.mkdtemp(), "run")
    command = [program, "train", "--model", "lenet", "--data", "fashion-mnist", "--workers", WORKERS, "--batch", BATCH,
               "--optimizer", "momentum", "--lr", RATE, "--epochs", EPOCHS, "--target-accuracy", 0.9, "--seed", seed,
               "--out", out, "--quiet"] + (["--eval-every", eval_every] if eval_every else [])
    began = time.monotonic()
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL)
    whole = time.monotonic() - began
    summary = json.load(open(os.path.join(out, "summary.json")))
    spans = [event for event in json.load(open(os.path.join(out, "trace.json")))["traceEvents"]
             if event["ph"] == "X" and event["pid"] == 0]
    first = min(event["ts"] for event in spans if event["name"] == "next batch") / 1e6
    return {"accuracy": summary["test_accuracy"], "reached": summary["time_to_target"] is not None,
            "steps": summary["steps"], "seconds": summary["train_seconds"],
            "test_seconds": sum(event["dur"] for event in spans if event["name"] == "evaluate") / 1e6,
            "startup": first + max(0, whole - summary["wall_seconds"])}


def show(name, runs):
    def middle(key):
        values = sorted(run[key] for run in runs)
        return f"{statistics.median(values):.1f} ({values[0]:.1f} – {values[-1]:.1f})"
    steps = statistics.median(1000 * run["seconds"] / run["steps"] for run in runs)
    print(f"{name:8} {middle('seconds'):>22} s, steps {middle('steps'):>26}, {steps:.2f} ms a step, "
          f"tests {middle('test_seconds')} s, start-up {middle('startup')} s, "
          f"{sum(run['reached'] for run in runs)} of {len(runs)} reached 90 %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hocket")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--eval-every", type=int, default=0, help="steps; 0: each epoch")
    parser.add_argument("--json", help="a file for all runs")
    options = parser.parse_args()
    capability, settings = fastest_settings()
    print(f"DDP runs with {capability} and {', '.join(settings)}", flush=True)
    runs = {"hocket": [], "ddp": []}
    for seed in range(1, options.seeds + 1):
        runs["hocket"].append(run_hocket(options.hocket, seed, options.eval_every))
        runs["ddp"].append(run_torch(capability, settings, seed, options.eval_every))
        print(seed, *(f"{name}: {done[-1]['seconds']:.1f} s, {done[-1]['steps']} steps, {done[-1]['accuracy']:.4f}"
                      for name, done in runs.items()), sep="  ", flush=True)
    if options.json:
        json.dump({"capability": capability, "settings": settings, **runs}, open(options.json, "w"), indent=1)
    for name, done in runs.items():
        show(name, done)
    ratio = statistics.median(run["seconds"] for run in runs["ddp"]) / statistics.median(
        run["seconds"] for run in runs["hocket"])
    print(f"ratio of the medians: {ratio:.2f}")


if __name__ == "__main__":
    main()
