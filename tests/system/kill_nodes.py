#!/usr/bin/python3 -B
"""Whichever of coordinator, heads and backups is killed, again and again: ps:bsp ends with the parameters of an
undisturbed run, ps:asp trains on. tests/soak/kill_nodes.py kills hundreds."""

from support.nodes import kill_nodes, percentile

count, pauses = kill_nodes(seed=1, sync="ps:bsp", steps=2000, most_kills=10)
assert count >= 8, count
more, other_pauses = kill_nodes(seed=2, sync="ps:asp", steps=400, most_kills=2)
pauses += other_pauses
print(f"{count + more} nodes killed: training stood still for p50 {percentile(pauses, 0.5):.2f} s, at most {max(pauses):.2f} s")
