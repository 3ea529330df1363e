#!/usr/bin/env python3
"""The ways of a comparison as a Markdown table: seconds and epochs of training to some test accuracies.

    /usr/bin/python3 bench/comparison_table.py FOLDER [--accuracies 0.88,0.9]

FOLDER is what `hocket compare --out` wrote. A figure is the mean over the seeds, between the lowest and the highest;
"never" where no run got there, "1 of 3" where not all of them did.
"""

import argparse
import json
import pathlib
import statistics

TEST = ("step", "epoch", "seconds", "bytes", "error")  # As compare.json has them.

def first_at(tests, accuracy):
    return next((test for test in tests if 1 - test["error"] >= accuracy), None)


def spread(values, digits):
    if not values:
        return "–"
    mean, low, high = statistics.mean(values), min(values), max(values)
    return f"{mean:.{digits}f}" + (f" ({low:.{digits}f} … {high:.{digits}f})" if len(values) > 1 else "")


def reached(runs, accuracy):
    there = [test for test in (first_at(tests, accuracy) for tests in runs) if test]
    if not there:
        return ["never", "–"]
    missing = "" if len(there) == len(runs) else f", {len(there)} of {len(runs)}"
    return [spread([test["seconds"] for test in there], 1) + missing, f"{statistics.mean(test['epoch'] for test in there):.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--accuracies", default="0.88,0.9")
    arguments = parser.parse_args()
    accuracies = [float(text) for text in arguments.accuracies.split(",")]
    heads = ["way"] + [f"{what} to {accuracy:.0%}" for accuracy in accuracies for what in ("seconds", "epochs")] + ["accuracy at the end, %"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    with open(arguments.folder / "compare.json", encoding="utf-8") as file:
        ways = json.load(file)["ways"]
    for way in ways:
        runs = [[dict(zip(TEST, test)) for test in run["tests"]] for run in way["runs"] if not run["repeat"]]
        cells = [cell for accuracy in accuracies for cell in reached(runs, accuracy)]
        print("| " + " | ".join([way["way"], *cells, spread([100 - 100 * tests[-1]["error"] for tests in runs if tests], 1)]) + " |")


main()
