#!/usr/bin/python3 -B
"""Whichever of coordinator, heads and backups is killed, again and again: ps:bsp ends with the parameters of an
undisturbed run, ps:asp trains on. tests/soak/kill_nodes.py kills hundreds."""

from support.nodes import kill_nodes, percentile

killed, pauses = 0, []
for seed in range(1, 5):  # The faster the machine, the sooner a run is over.
    count, more = kill_nodes(seed=seed, sync="ps:bsp", steps=2000, most_kills=10 - killed)
    killed, pauses = killed + count, pauses + more
    if killed >= 8:
        break
assert killed >= 8, killed
count, more = kill_nodes(seed=5, sync="ps:asp", steps=400, most_kills=2)
killed, pauses = killed + count, pauses + more
print(f"{killed} nodes killed: training stood still for p50 {percentile(pauses, 0.5):.2f} s, at most {max(pauses):.2f} s")
