#!/usr/bin/python3 -B
"""The report of a run opens offline in a browser, draws every chart, and shows hostile text as text."""

import json
import math
import os
import random
import re
import subprocess

from support.browser import browse, drawn_pixels, find_browser, skip

HOCKET = os.environ.get("HOCKET", "build/hocket")
EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


def metrics(steps, speed, noise):
    """Rows of a training run that looks like one."""
    for step in range(1, steps + 1):
        loss = 0.25 + 2.05 * math.exp(-step * speed) + noise.gauss(0, 0.08) * math.exp(-step * speed / 2)
        when = {"step": step, "epoch": step / 300, "seconds": step * 0.011}
        row = {"kind": "train", **when, "loss": loss, "accuracy": 1 - 0.4 * loss,
               "learning_rate": 0.05 * (1 + math.cos(math.pi * step / steps)),
               "samples_per_second": 11600 + noise.gauss(0, 300), "gradient_norm": 2 * loss + noise.random()}
        if step % 10 == 0:
            row["gradient_norms"] = {f"conv{i}" if i < 3 else f"fc{i} {EVIL}": loss * 2**-i + noise.random() * 0.02
                                     for i in range(1, 6)}
        yield row
        if step % 100 == 0:
            yield {"kind": "eval", "set": "test", **when, "loss": loss + 0.05, "accuracy": 0.98 - 0.4 * loss}


def trace(steps):
    """Spans of two threads, with an evaluation and a checkpoint."""
    events = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}},
              {"ph": "M", "name": "thread_name", "pid": 0, "tid": 0, "args": {"name": "compute"}},
              {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "loader"}}]
    now = 0.0

    def span(name, kind, tid, start, length):
        events.append({"ph": "X", "name": name, "cat": kind, "pid": 0, "tid": tid, "ts": start, "dur": length})

    for step in range(steps):
        span("load", "data", 1, now, 4000 + 900 * (step % 3))
        for name, kind, length in (("wait for batch", "wait", 300), ("forward", "compute", 3500),
                                   ("backward", "compute", 5900), ("update " + EVIL, "compute", 900)):
            span(name, kind, 0, now, length)
            now += length
        if step % 20 == 19:
            span("evaluate", "eval", 0, now, 40000)
            span("checkpoint", "checkpoint", 0, now + 40000, 12000)
            now += 52000
    return {"displayTimeUnit": "ms", "traceEvents": events, "otherData": {"spans_dropped": 12}}


def make_run(folder, model, speed, emulated):
    os.makedirs(folder)
    seconds = {"wall_seconds": 8.4, "train_seconds": 6.6, "cpu_seconds": 7.9, "compute_seconds": 5.7,
               "comm_seconds": 0.0, "wait_seconds": 0.3}
    summary = {"status": "done", "model": model, "data": "fashion-mnist", "workers": 1, "servers": 0, "mesh": "dp=1",
               "sync": "none", "zero": 0, "algorithm": "none", "transport": "none", "dtype": "f32", "threads": 1,
               "seed": 1, "emulated": emulated, "parameters": 421642, "epochs": 2, "steps": 600, "samples": 76800,
               **seconds, "samples_per_second": 11623.4, "test_accuracy": 0.9042, "test_loss": 0.2731,
               "best_test_accuracy": 0.9061, "target_accuracy": 0.9, "time_to_target": 4.62, "bytes_sent": 0,
               "messages_sent": 0, "exposed_comm_fraction": 0, "staleness": 0, "peak_rss_bytes": 187654144,
               "parameter_hash": "99aa06d3014798d86001c324468d497f", "version": "0.1.0",
               "ranks": [{"rank": 0, **seconds}]}
    with open(f"{folder}/summary.json", "w") as file:
        json.dump(summary, file)
    with open(f"{folder}/metrics.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in metrics(600, speed, random.Random(folder)))
        file.write('{"kind": "train", "st')  # The line that a killed run was writing.
    with open(f"{folder}/trace.json", "w") as file:
        json.dump(trace(60), file)
    with open(f"{folder}/config.toml", "w") as file:
        file.write(f'model = "{model.translate({34: None})}"  # command line\nseed = 1  # default\n\n'
                   '[train]\nlr = 0.1  # base.toml:3\nepochs = 2  # command line\nbatch = 128  # default\n')


def render(out, *folders):
    subprocess.run([HOCKET, "report", *folders, "--out", out], check=True)
    with open(out) as file:
        page = file.read()
    remote = re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|url\(""", page.split("<script")[0])
    assert not remote, f"{out} loads from elsewhere: {remote}"
    assert EVIL not in page, "text of a run stands in the page as HTML"
    return os.path.abspath(out)


def check(chromium, page, charts):
    dom = browse(chromium, page)
    drawn = drawn_pixels(dom)
    assert len(drawn) == charts, f"{len(drawn)} charts, expected {charts}"
    assert min(drawn) > 1000, f"a chart is blank: drawn pixels {drawn}"
    text = re.sub(r"<(script|style)\b.*?</\1>", "", dom, flags=re.S)
    assert "<img" not in text and "alert(1)" in text, "hostile text must be shown, and only as text"
    assert "emulated" in text
    print(f"{os.path.basename(page)}: {charts} charts, {drawn} pixels")


def check_pipeline(chromium):
    """A real pipeline shows its stages, and its bubbles as they were measured."""
    subprocess.run([HOCKET, "train", "--quiet", "--model", "mlp,hidden=32x24x16", "--data", "synthetic:mnist,samples=640",
                    "--batch", "64", "--steps", "6", "--eval-every", "6", "--threads", "1", "--mesh", "pp=2", "--microbatches", "4",
                    "--emulate-compute", "0.2", "--out", "run-p"], check=True)
    page = render("pipeline.html", "run-p")
    with open(page) as file:
        html = file.read()
    with open("run-p/summary.json") as file:
        measured = json.load(file)["bubble_fraction"]
    run = json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", html, re.S)[1])["runs"][0]
    names = [name["text"] for name in run["trace"]["names"]]
    lanes = [index for index, lane in enumerate(run["trace"]["lanes"]) if lane["thread"] == "training"]
    assert [run["trace"]["lanes"][lane]["process"] for lane in lanes] == ["rank 0, stage 0", "rank 1, stage 1"], lanes
    updates = sorted(start + length for lane, name, start, length in run["trace"]["spans"] if names[name] == "update")
    begin, end = updates[1], updates[-1]  # All steps but the first.
    bubbles = [max(0, min(start + length, end) - max(start, begin)) for lane, name, start, length in run["trace"]["spans"]
               if names[name] == "bubble"]
    assert abs(sum(bubbles) / (2 * (end - begin)) - measured) < 0.03, (sum(bubbles), begin, end, measured)
    if chromium:
        dom = browse(chromium, page)
        assert min(drawn_pixels(dom)) > 1000 and 'data-kind="bubble"' in dom


def main():
    if not os.path.exists(HOCKET):
        skip(f"{HOCKET} is not built")
    chromium = find_browser()
    make_run("run-a", "lenet " + EVIL, 0.012, emulated=True)
    make_run("run-b", "lenet", 0.006, emulated=False)
    one = render("one.html", "run-a")
    two = render("two.html", "run-a", "run-b")
    check_pipeline(chromium)
    if not chromium:
        skip("chromium is missing; the pages were written but not opened")
    check(chromium, one, charts=8)
    check(chromium, two, charts=9)


main()
