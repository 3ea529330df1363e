#!/usr/bin/python3 -B
"""hocket train --explain says what a step sends and keeps, and trains nothing; runs leave one timeline of all ranks."""

import json
import pathlib

from support.program import SMALL, output, refusal, train

GPT = ["--model", "gpt,layers=2,width=16,heads=2", "--data", "synthetic:text", "--batch", "4"]
CLUSTER = """
racks = 1
hosts = 2
sockets = 1
devices = 2
[link.host]
alpha = "20us"
bandwidth = "10Gbit"
[link.device]
alpha = "1us"
bandwidth = "100Gbit"
"""


def explain(*arguments):
    return json.loads(output("train", "--explain", "--json", *arguments))


# Tensor-parallel blocks meet twice each way; gradients are summed along dp alone.
mixed = explain(*GPT, "--mesh", "dp=2,tp=2")
of_blocks = [item for item in mixed["collectives"] if item["axis"] == "tp" and item["value"].startswith("blocks.")]
assert [item["phase"] for item in of_blocks].count("forward") == 4, of_blocks
assert all(item["collective"] == "all_reduce" and item["ranks"] == [0, 1] for item in of_blocks), of_blocks
assert {item["axis"] for item in mixed["collectives"] if item["value"].startswith("gradient of")} == {"dp"}, mixed
for total in mixed["totals"]:
    same = [item for item in mixed["collectives"] if (item["axis"], item["phase"]) == (total["axis"], total["phase"])]
    assert total["collectives"] == len(same) and total["sent_bytes"] == sum(item["sent_bytes"] for item in same), total
assert " = all_reduce(" in mixed["graph"] and "other_order" not in mixed, mixed

# What it foretells is what a run sends: of all ranks, in gradients and in agreeing.
two = train(*SMALL, "--steps", 20, "--workers", 2, "--transport", "tcp", "--algorithm", "ring", "--out", "run",
            "--reduce-order", "any")
told = explain(*SMALL, "--workers", 2, "--transport", "tcp")
foretold = 2 * 20 * sum(total["sent_bytes"] for total in told["totals"])
assert foretold <= two["bytes_sent"] < 1.25 * foretold, (foretold, two["bytes_sent"])

# ZeRO.
kept = [explain(*SMALL, "--workers", 2, "--zero", level) for level in range(4)]
assert not kept[0]["within_step"]["gathered_bytes"] and kept[3]["within_step"]["gathered_bytes"], kept
state, parameters = ([each["kept"][key] for each in kept] for key in ("state_bytes", "parameter_bytes"))
assert state[1] < 0.6 * state[0] and parameters[3] < 0.6 * parameters[0] <= parameters[2], kept
assert kept[3]["buckets"] and all(bucket["slice_bytes"] for bucket in kept[3]["buckets"]), kept[3]

# Hosts: the axis that talks most belongs inside one.
pathlib.Path("cluster.toml").write_text(CLUSTER)
hosts = explain(*GPT, "--mesh", "dp=2,tp=2", "--topology", "cluster.toml")
assert hosts["other_order"]["mesh"] == "tp=2,dp=2", hosts
assert hosts["other_order"]["predicted_seconds"] > hosts["communication"]["predicted_seconds"], hosts
assert hosts["other_order"]["cross_host_bytes"] > hosts["communication"]["cross_host_bytes"] > 0, hosts
text = output("train", "--explain", *GPT, "--mesh", "dp=2,tp=2", "--topology", "cluster.toml")
assert "dp=2,tp=2 is better" in text and "partial(sum) → replicated, for" in text, text

dot = output("train", "--explain=dot", *GPT, "--mesh", "dp=2,tp=2")
assert dot.startswith("digraph") and "fillcolor" in dot and "dp sharded(0), tp partial(sum)" in dot, dot[:2000]
assert " = all_reduce(" in output("train", "--explain", "graph", *GPT, "--mesh", "tp=2")
assert sorted(path.name for path in pathlib.Path().iterdir()) == ["cluster.toml", "run"]

assert "dot and graph" in refusal(2, "train", *SMALL, "--explain", "xml")
assert "--explain" in refusal(2, "train", *SMALL, "--topology", "this")
assert "legal: tp:0, tp:1, tp:replicated" in refusal(
    2, "train", *GPT, "--mesh", "tp=2", "--explain", "--place", "blocks.0.mlp.up.weight=tp:3")

# One timeline of both threads of both ranks, by one clock.
events = json.loads(pathlib.Path("run/trace.json").read_text())["traceEvents"]
spans = [event for event in events if event["ph"] == "X"]
lanes = {(event["pid"], event["args"]["name"]) for event in events if event["name"] == "thread_name"}
assert lanes == {(rank, thread) for rank in (0, 1) for thread in ("training", "communication")}, lanes
for rank in (0, 1):
    sums = [span for span in spans if span["pid"] == rank and span["cat"] == "communication"]
    assert len(sums) >= 20 and all(span["args"]["bytes"] > 0 for span in sums), sums
steps = [[span for span in spans if span["pid"] == rank and span["name"] == "backward"] for rank in (0, 1)]
assert len(steps[0]) == len(steps[1]) == 20, steps
for first, second in zip(*steps):  # A sum that both wait for keeps them within a step of each other.
    assert abs(first["ts"] - second["ts"]) < 5e6, (first, second)
page = pathlib.Path("run/report.html").read_text()
assert "Seconds of each rank" in page and "What each rank did when" in page
