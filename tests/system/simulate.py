#!/usr/bin/python3 -B
"""simulate: the ring's latency is linear in the ranks, the tree's logarithmic; racks make hierarchical the choice.
Parameter servers that are killed, cut off and moved lose nothing, and a seed repeats."""

import json
import math
import pathlib

from support.program import output, refusal


def simulate(*arguments):
    return json.loads(output("simulate", "collective", "--json", *arguments))


def seconds(rows, algorithm):
    return {row["ranks"]: row["predicted_seconds"] for row in rows if row["algorithm"] == algorithm}


links = ["--topology", "uniform:alpha=50us,bandwidth=10Gbit"]
rows = simulate("--algorithm", "ring,binomial", "--ranks", "10,100,1000,2000", "--bytes", "4KiB", *links)
ring, tree = seconds(rows, "ring"), seconds(rows, "binomial")
for ranks in ring:
    assert math.isclose(tree[ranks], 2 * math.ceil(math.log2(ranks)) * (50e-6 + 4096 * 8e-10), rel_tol=1e-9), ranks
assert math.isclose(ring[2000] / ring[1000], 2, rel_tol=0.01), ring
[even] = simulate("--algorithm", "ring", "--ranks", 8, "--bytes", "1MiB", *links)
assert math.isclose(even["predicted_seconds"], 14 * (50e-6 + 2**17 * 8e-10), rel_tol=1e-9), even
assert even["total_bytes"] == 8 * even["bytes_per_rank"] == 14 * 2**20 and even["rounds"] == 14

# A tree of 10,000 ranks, and every other algorithm of a world that is no power of two.
[tall] = simulate("--algorithm", "binomial", "--ranks", 10000, "--bytes", "1KiB")
assert tall["messages"] == 2 * 9999 and tall["rounds"] == 28, tall
assert len(simulate("--ranks", 12, "--collective", "all_gather")) >= 3

pathlib.Path("racks.toml").write_text(
    """order = "cyclic"
racks = 3
hosts = 8
[link.rack]
oversubscription = 4
[link.host]
alpha = "25us"
bandwidth = "10Gbit"
"""
)
rows = simulate("--ranks", 24, "--bytes", "64MiB", "--topology", "racks.toml")
times = {row["algorithm"]: row["predicted_seconds"] for row in rows}
crossing = {row["algorithm"]: row["cross_rack_bytes"] for row in rows}
assert min(times, key=times.get) == "hierarchical" and times["ring"] >= 2 * times["hierarchical"], times
assert crossing["hierarchical"] == min(crossing.values()) == 3 * 2 * 2**26 * 2 // 3, crossing
text = output("simulate", "collective", "--ranks", 24, "--bytes", "64MiB", "--topology", "racks.toml", "--explain")
assert text.splitlines()[-2].startswith("hierarchical: predicted"), text
assert "8 hosts, alpha 25.0 us, 1.25 GB/s" in output("simulate", "topology", "--topology", "racks.toml", "--ranks", 24)

for sync in ("ps:asp", "ps:bsp", "ps:ssp,s=1", "ps:kofn,k=2", "ps:softsync,n=2", "downpour,nfetch=2,npush=2"):
    cluster = ["simulate", "ps", "--seeds", 20, "--seed", 100, "--sync", sync]
    report = json.loads(output(*cluster, "--json"))
    assert report["seeds"] == 20 and report["violations"] == [], report
    assert report["server_kills"] > 0 and report["lost_messages"] > 0 and report["recovery_p95_seconds"] < 2, report
    assert report == json.loads(output(*cluster, "--json"))
assert "nothing violated" in output("simulate", "ps", "--seeds", 3, "--replicas", 1)

for wrong, expected in {
    ("ps", "--sync", "allreduce"): "has no servers",
    ("ps", "--sync", "ps:bps"): "did you mean",
    ("ps", "--replicas", 3, "--servers", 2): "3 replicas need as many servers",
    ("collective", "--ranks", 25, "--topology", "racks.toml"): "place for 24 ranks",
    ("collective", "--algorithm", "rong"): "did you mean ring?",
    ("collective", "--collective", "all_redcue"): "did you mean all_reduce?",
    ("collective", "--algorithm", "hypercube"): "hypercube cannot do all_reduce",
    ("collective", "--topology", "uniform:bandwith=1GB"): "did you mean bandwidth?",
    ("collective", "--topology", "nowhere.toml"): "nowhere.toml: cannot be read",
    ("collectve",): "did you mean collective?",
}.items():
    line = refusal(2, "simulate", *wrong)
    assert expected in line, line
