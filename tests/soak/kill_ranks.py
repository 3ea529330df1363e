#!/usr/bin/python3 -B
"""Kills 200 random ranks in random collectives."""

import os
import pathlib
import sys

os.environ.setdefault("HOCKET_BUILD", str(pathlib.Path(sys.argv[1]).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "system"))

from support.ranks import kill_one  # noqa: E402

delays = [delay for seed in range(1000, 1200) for delay in kill_one(seed)]
print(f"200 ranks killed: {len(delays)} survivors named them, the last after {max(delays):.3f} s")
