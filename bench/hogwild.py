#!/usr/bin/env python3
"""Sparse logistic regression by threads without locks: two beside one, and beside two that take turns.

    /usr/bin/python3 bench/hogwild.py build/hocket [--features 30000000,1000000] [--epochs 5] [--rounds 5] [--json FILE]

Updates take one sample each, as in the paper. Runs take turns; a figure is the median over rounds, between the lowest
and the highest. Samples a second are by the clock; "by CPU" divides the samples by the processor time of the busiest
thread instead. On a machine that others use as well neither is the truth: the clock counts their time, and threads that
seldom run at the same moment neither wait for a lock nor for each other's cache lines, so that by CPU even the locked ones
seem to scale. Compare threads on cores that are free.
"""

import argparse
import json
import statistics
import subprocess
import tempfile

WAYS = {"one thread": (1, "hogwild,rows=1"), "two threads": (2, "hogwild,rows=1"), "two, locked": (2, "hogwild,rows=1,locked=1")}


def run(hocket, features, samples, epochs, way, folder):
    workers, sync = WAYS[way]
    data = f"synthetic:sparse,samples={samples},features={features},nonzeros=40,skew=6"
    command = [hocket, "train", "--model", "logreg", "--data", data, "--optimizer", "sgd", "--lr", "1", "--batch", "64",
               "--epochs", str(epochs), "--workers", str(workers), "--sync", sync, "--threads", "1", "--log-every", "100000",
               "--out", folder, "--json", "--quiet"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    busiest = max(rank["cpu_seconds"] for rank in result["ranks"])
    return {"wall": result["samples_per_second"], "cpu": result["samples"] / busiest, "loss": result["test_loss"],
            "train_loss": result["train_loss"], "conflicts": result["hogwild"]["conflict_rate"], "staleness": result["staleness"]}


def spread(values):
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def measure(arguments, features):
    rounds = {way: [] for way in WAYS}
    for _ in range(arguments.rounds):
        for way in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                rounds[way].append(run(arguments.hocket, features, arguments.samples, arguments.epochs, way, folder + "/run"))
    figures = {way: {key: spread([each[key] for each in runs]) for key in runs[0]} for way, runs in rounds.items()}
    two = rounds["two threads"]

    def ratio(kind, other):
        return spread([a[kind] / b[kind] for a, b in zip(two, rounds[other])])

    return {"features": features, "ways": figures,
            "over one thread": {kind: ratio(kind, "one thread") for kind in ("wall", "cpu")},
            "over locked": {"wall": ratio("wall", "two, locked")}}


def show(result):
    print(f"\n{result['features']:,} features")
    print(f"{'':14}{'samples/s':>36}{'by CPU':>36}{'test loss':>11}{'conflicts':>11}")
    for way, figures in result["ways"].items():
        cells = [f"{figures[kind]['median']:,.0f} ({figures[kind]['low']:,.0f} … {figures[kind]['high']:,.0f})" for kind in ("wall", "cpu")]
        print(f"{way:14}{cells[0]:>36}{cells[1]:>36}{figures['loss']['median']:>11.4f}{100 * figures['conflicts']['median']:>9.4f} %")
    for name in ("over one thread", "over locked"):
        for kind, value in result[name].items():
            print(f"two threads {name}, {'by the clock' if kind == 'wall' else 'by CPU'}: "
                  f"{value['median']:.2f} ({value['low']:.2f} … {value['high']:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hocket")
    parser.add_argument("--features", default="30000000,1000000")
    parser.add_argument("--samples", type=int, default=300000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = [measure(arguments, int(features)) for features in arguments.features.split(",")]
    for result in results:
        show(result)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


main()
