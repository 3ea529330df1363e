#!/usr/bin/python3 -B
"""Cross-validation trains once per fold and sums up; one fold alone is the same run."""

import pathlib
import statistics

from support.program import SMALL, refusal, train

result = train(*SMALL, "--folds", 3, "--out", "all")
accuracies = [run["test_accuracy"] for run in result["runs"]]
assert len(accuracies) == 3 and len({run["parameter_hash"] for run in result["runs"]}) == 3
assert abs(result["test_accuracy"]["mean"] - statistics.mean(accuracies)) < 1e-12
assert abs(result["test_accuracy"]["deviation"] - statistics.stdev(accuracies)) < 1e-12
assert pathlib.Path("all/report.html").exists() and pathlib.Path("all/fold-3/summary.json").exists()

second = train(*SMALL, "--folds", 3, "--fold", 2)
assert second["parameter_hash"] == result["runs"][1]["parameter_hash"]

held_out = train(*SMALL, "--validation", 0.25)
assert held_out["samples"] == 1500, held_out
assert "expected 1 to 3" in refusal(2, "train", *SMALL, "--folds", 3, "--fold", 4)
