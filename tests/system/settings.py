#!/usr/bin/python3 -B
"""Settings come from defaults, then a file, then the environment, then the command line; config.toml says which."""

import os
import pathlib
import tomllib

from support.program import SMALL, output, train

pathlib.Path("exp.toml").write_text('[train]\nlr = 0.01\nbatch = 100\nseed = 3\nlr_schedule = "cosine"\n')
environment = {**os.environ, "HOCKET_TRAIN__BATCH": "50", "HOCKET_TRAIN__SEED": "4"}
given = ["--config", "exp.toml", "--seed", "5", "--set", "train.clip=2.5"]
result = train(*SMALL, *given, "--epochs", 1, "--out", "run", env=environment)
assert result["seed"] == 5 and result["steps"] == 40, result

text = pathlib.Path("run/config.toml").read_text()
for line in ("lr = 0.01  # exp.toml:2", "batch = 50  # environment HOCKET_TRAIN__BATCH", "seed = 5  # command line",
             'lr_schedule = "cosine"  # exp.toml:5', "clip = 2.5  # command line", "momentum = 0.9  # default"):
    assert line in text, (line, text)

again = train("--config", "run/config.toml", "--out", "again")
assert again["parameter_hash"] == result["parameter_hash"]
assert tomllib.loads(text) == tomllib.loads(pathlib.Path("again/config.toml").read_text())

tested = output("eval", "--run", "run", "--set", "train.test_data=synthetic:mnist,samples=50")
assert "samples        10" in tested, tested
