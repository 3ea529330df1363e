#!/usr/bin/python3 -B
"""20,000 simulated clusters under faults, by discipline and number of replicas: nothing is lost, nothing made twice."""

import subprocess
import sys

SETTINGS = [("ps:asp", 2), ("ps:bsp", 2), ("ps:ssp,s=2", 2), ("ps:bsp", 3)]

for at, (sync, replicas) in enumerate(SETTINGS):
    words = ["simulate", "ps", "--seeds", 20000 // len(SETTINGS), "--seed", 1 + 100000 * at, "--sync", sync,
             "--replicas", replicas]
    subprocess.run([sys.argv[1], *map(str, words)], check=True)
