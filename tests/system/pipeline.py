#!/usr/bin/python3 -B
"""Stages on processes of their own train the same model, bit by bit, and say how long they idled."""

import concurrent.futures
import json
import pathlib
import tempfile

from support.program import SOURCE, output, refusal, train

MLP = ["--model", "mlp,hidden=32x24x16", "--data", "synthetic:mnist,samples=640", "--batch", 64, "--steps", 8,
       "--threads", 1]
HALF = [*MLP[:6], "--steps", 4, *MLP[8:]]
TEXT = ["--model", "gpt,layers=2,width=32,heads=2", "--data", "synthetic:text", "--batch", 16, "--steps", 4,
        "--threads", 1]

# Every schedule gives the bits of one worker with the same micro-batches, whatever the transport.
for arguments, ways in ((MLP, ("naive", "gpipe", "1f1b", "interleaved,chunks=2")), (TEXT, ("gpipe", "1f1b"))):
    alone = train(*arguments, "--microbatches", 4)
    for way in ways:
        cut = train(*arguments, "--microbatches", 4, "--mesh", "pp=2", "--schedule", way)
        assert cut["parameter_hash"] == alone["parameter_hash"], (way, cut, alone)
        assert cut["test_loss"] == alone["test_loss"] and cut["train_loss"] == alone["train_loss"], (way, cut)
        assert cut["schedule"] == way and cut["mesh"] == "pp=2", cut
    tcp = train(*arguments, "--microbatches", 4, "--mesh", "pp=2", "--transport", "tcp")
    assert tcp["parameter_hash"] == alone["parameter_hash"], tcp

# With replicas, and with stages that the user names.
whole = train(*MLP, "--microbatches", 2, "--workers", 2)
for stages in ([], ["--stages", "fc1|fc2,fc3,fc4"], ["--recompute"]):
    cut = train(*MLP, "--microbatches", 2, "--mesh", "pp=2,dp=2", *stages)
    assert cut["parameter_hash"] == whole["parameter_hash"], (stages, cut, whole)

# Computation that is slept, not done, shows the bubbles that the schedules promise; all at once, as they only sleep.
# Other work on the machine adds some milliseconds at each message: sleeps are long, and the least of three runs counts.
BUBBLES = (("1f1b", 2, 4, 1 / 5), ("1f1b", 4, 4, 3 / 7), ("1f1b", 8, 8, 7 / 15), ("gpipe", 4, 4, 3 / 7),
           ("interleaved,chunks=2", 2, 4, 1 / 9), ("interleaved,chunks=2", 4, 4, 3 / 11), ("naive", 2, 2, 1 / 2))
STREAMS = (("pipedream", 2, 4, 1 / 49), ("pipedream,vertical=1", 4, 4, 3 / 51))  # Filled and drained once in 12 steps.


def bubble_of(schedule, stages, micro_batches, steps, seconds):
    run = train("--model", "mlp,hidden=32x24x16x16x16x16x16x16", *MLP[2:6], "--steps", steps, "--eval-every", steps, *MLP[8:],
                "--microbatches", micro_batches, "--mesh", f"pp={stages}", "--schedule", schedule, "--emulate-compute", seconds)
    assert run["emulated"], run
    return run["bubble_fraction"]


with concurrent.futures.ThreadPoolExecutor(len(BUBBLES) + len(STREAMS)) as pool:
    left = [(each, 2, 3) for each in BUBBLES] + [(each, 12, 1.2) for each in STREAMS]
    for attempt in range(3):
        runs = [(pool.submit(bubble_of, *each[:3], steps, seconds), each, steps, seconds) for each, steps, seconds in left]
        excess = {each: (future.result() - each[3], steps, seconds) for future, each, steps, seconds in runs}
        assert all(value > -0.02 for each, (value, *_) in excess.items() if each in BUBBLES), excess
        left = [(each, steps, seconds) for each, (value, steps, seconds) in excess.items() if value > 0.02]
        if not left:
            break
    assert not left, excess

# A checkpoint of a pipeline is read by any other mesh, and the other way round.
with tempfile.TemporaryDirectory() as folder:
    straight = train(*MLP, "--microbatches", 2)
    for first, second in (("pp=2", "dp=1"), ("dp=1", "pp=3"), ("pp=3", "pp=2")):
        out = pathlib.Path(folder) / f"{first}{second}"
        train(*HALF, "--microbatches", 2, "--mesh", first, "--out", out)
        resumed = train(*MLP, "--microbatches", 2, "--mesh", second, "--out", out, "--resume")
        assert resumed["parameter_hash"] == straight["parameter_hash"], (first, second, resumed)
    evaluated = json.loads(output("eval", "--json", "--run", pathlib.Path(folder) / "dp=1pp=3"))
    assert evaluated["test_loss"] == straight["test_loss"], (evaluated, straight)

# Two branches of a graph on two processes run at the same time.
BRANCHES = ["--model", f"file:{SOURCE / 'tests/system/support/branches.model'}", "--data", "synthetic:mnist,samples=1024",
            "--batch", 256, "--steps", 4, "--threads", 1]
with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / "run"
    cut = train(*BRANCHES, "--mesh", "pp=2", "--stages", "left,left2|right,right2,head", "--out", out)
    assert cut["parameter_hash"] == train(*BRANCHES)["parameter_hash"], cut
    spans = [each for each in json.loads((out / "trace.json").read_text())["traceEvents"] if each["name"] == "forward"]
    ends = [[(each["ts"], each["ts"] + each["dur"]) for each in spans if each["pid"] == rank] for rank in (0, 1)]
    overlap = sum(max(0, min(b, d) - max(a, c)) for a, b in ends[0] for c, d in ends[1])
    assert overlap > 0, ends

# What cannot be is said in one line.
for arguments, expected in ((["--mesh", "pp=2", "--microbatches", 5], "micro-batches"),
                            (["--mesh", "pp=9", "--microbatches", 2], "stages at most"),
                            (["--mesh", "pp=2", "--stages", "fc1|"], "empty"),
                            (["--mesh", "pp=2", "--stages", "fc1|fd2"], "fd2"),
                            (["--mesh", "pp=2", "--schedule", "gpip"], "gpipe")):
    message = refusal(2, "train", *MLP, *arguments)
    assert expected in message, message
