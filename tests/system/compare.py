#!/usr/bin/python3 -B
"""A comparison trains every way with every seed, scores them, survives what goes wrong and goes on where it stopped."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from support.browser import browse, drawn_pixels, find_browser, skip
from support.program import HOCKET, SMALL, is_alive, output, refusal, rows, run

WAYS = ["--workers", "1,2", "--seeds", "2"]


def compare(*arguments):
    return json.loads(output("compare", "--json", "--quiet", *arguments))


def check_scores():
    """Two ways, two seeds: table, JSON and the runs behind them."""
    done = run("compare", *SMALL, *WAYS, "--epochs", "2", "--target-error", "0.2", "--check-repeat", "--out", "both")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 110 for line in done.stdout.splitlines()), done.stdout
    heads = [line for line in done.stdout.splitlines() if line.startswith("way")]
    assert len(heads) == 2 and re.search(r"^2 workers +\d", done.stdout, re.M), done.stdout
    order = re.findall(r"run \d of 6: (\d) workers?, seed (\d)", done.stderr)
    assert order == [("1", "1"), ("2", "1"), ("1", "2"), ("2", "2"), ("1", "1"), ("2", "1")], done.stderr

    result = json.loads(pathlib.Path("both/compare.json").read_text())
    assert result["complete"] and result["target_error"] == 0.2 and len(result["ways"]) == 2, result
    for way, workers in zip(result["ways"], (1, 2)):
        assert way["workers"] == workers and way["baseline"] == "1 worker", way
        assert way["efficiency"]["reached"] == 2 and way["efficiency"]["seconds"]["median"] > 0, way
        assert way["efficiency"]["seconds"]["low"] <= way["efficiency"]["seconds"]["high"], way
        assert way["stability"]["bit_reproducible"] is True and way["stability"]["diverged"] == 0, way
        assert (way["efficiency"]["bytes"]["median"] > 0) == (workers > 1), way
        assert way["complexity"]["count"] == 0 and way["complexity"]["defaults_sufficed"], way
        assert 0.99 < sum(way["shares"].values()) < 1.01 and way["assumption"], way
        assert len(way["curve"]) >= 20, "at least ten tests an epoch"
        summary = json.loads(pathlib.Path("both", way["runs"][0]["run"], "summary.json").read_text())
        assert summary["parameter_hash"] == way["runs"][0]["parameter_hash"] and summary["workers"] == workers
    assert result["notices"] == [] or result["cores"] < 2, "each worker has one thread, and a core for it"
    assert result["ways"][0]["runs"][0]["parameter_hash"] != result["ways"][0]["runs"][1]["parameter_hash"]
    assert result["ways"][1]["cost"]["per_added_worker"]["than"] == "1 worker", result["ways"][1]
    assert "holds a comparison already" in refusal(2, "compare", *SMALL, *WAYS, "--out", "both")
    return "both/compare.html"


def check_batches():
    """Every batch by every rule, each of one worker."""
    result = compare(*SMALL, "--batch", "32,128", "--lr-rule", "none,linear", "--epochs", "1", "--out", "batches")
    names = [f"1 worker, batch {batch}, lr {rule}" for rule in ("none", "linear") for batch in (32, 128)]
    assert [way["way"] for way in result["ways"]] == names, result
    assert [way["complexity"]["knobs"] for way in result["ways"]] == [[], [], ["lr_base_batch"], ["lr_base_batch"]]
    assert result["target_chosen"] and all(way["efficiency"]["reached"] == 1 for way in result["ways"]), result
    return "batches/compare.html"


def check_pipelines():
    """A model in one piece and in stages, by several schedules: the schedule is none of the first one's business."""
    ways = ["--mesh", "dp=1;pp=2", "--schedule", "1f1b;pipedream", "--microbatches", "4"]
    done = run("compare", *SMALL, *ways, "--epochs", "1", "--out", "pipelines")
    assert done.returncode == 0 and len(re.findall(r"^2 workers pp=2, pipedream +\d", done.stdout, re.M)) == 2, (done.stdout, done.stderr)
    result = json.loads(pathlib.Path("pipelines/compare.json").read_text())
    assert [way["way"] for way in result["ways"]] == ["1 worker", "2 workers pp=2, 1f1b", "2 workers pp=2, pipedream"], result
    alone, by_turns, stream = (way["runs"][0] for way in result["ways"])
    assert alone["parameter_hash"] == by_turns["parameter_hash"] != stream["parameter_hash"], result
    assert "stages of equal work" in result["ways"][1]["assumption"] and "updates old" in result["ways"][2]["assumption"], result
    assert set(result["ways"][2]["complexity"]["knobs"]) == {"mesh", "schedule", "microbatches"}, result["ways"][2]
    assert 'stage 1"' in pathlib.Path("pipelines/compare.html").read_text(), "its timeline names stages"


def check_disciplines():
    """Disciplines side by side, one worker slow: winners, staleness, knobs, and the word emulated wherever it belongs."""
    ways = ["--workers", "2", "--sync", "allreduce", "--sync", "ps:ssp,s=2", "--sync", "hogwild"]
    pathlib.Path("net.toml").write_text('hosts = 4\n[link.host]\nalpha = "500us"\nbandwidth = "1Gbit"\n')
    slow = ["--emulate-compute", "0.005", "--slow", "1=3", "--emulate-net", "net.toml"]
    done = run("compare", *SMALL, *ways, *slow, "--steps", "60", "--epochs", "9", "--target-error", "0.5", "--json", "--out", "disciplines")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    alone, by_all, by_servers, threads = result["ways"]
    assert result["emulated"] and all(way["emulated"] for way in result["ways"]), result
    assert [len(way["complexity"]["knobs"]) for way in result["ways"]] == [0, 0, 1, 0], result
    assert not by_all["staleness"]["shares"] and abs(sum(by_servers["staleness"]["shares"]) - 1) < 1e-9, result
    assert threads["conflict_rate"] is not None and abs(sum(threads["staleness"]["shares"]) - 1) < 1e-9, threads
    assert threads["bytes_sent"] == 0 and by_servers["bytes_sent"] > 0 and "few parameters" in threads["assumption"], result
    winners = {winner["criterion"]: winner["way"] for winner in result["winners"]}
    assert winners["bytes to target"] == threads["way"] and winners["complexity"] != by_servers["way"], winners
    assert {"time to target", "worker seconds to target", "cost to target", "test error"} <= winners.keys()
    assert "winners\n" in done.stderr and "efficiency and cost, emulated" in done.stderr, done.stderr
    if result["cores"] >= 2:
        ring, master = (result["modelled_scaling"][kind] for kind in ("ring", "master"))
        assert [point["workers"] for point in ring] == [2, 4, 8, 16, 32, 64], ring
        assert master[-1]["communication"] > ring[-1]["communication"], result["modelled_scaling"]
    page = pathlib.Path("disciplines/compare.html").read_text()
    assert page.count("<figcaption>") == page.count('emulated</span></figcaption>'), "a figure does not say that it is emulated"
    assert 'id="winners"' in page
    return "disciplines/compare.html"


def check_convex():
    """A convex model is judged by its distance to the optimum that L-BFGS finds."""
    result = compare("--model", "logreg", "--data", "synthetic:sparse,samples=2000,features=20,nonzeros=6", "--threads", 1,
                     "--optimizer", "sgd", "--lr", 4, "--epochs", 10, "--workers", "2", "--sync", "ps:bsp;hogwild", "--out", "convex")
    losses = [way["optimum_gap"] for way in result["ways"]]
    assert len(losses) == 3 and 0 < result["optimum"] < 0.7 and all(0 <= gap < 0.05 for gap in losses), (result["optimum"], losses)


def check_divergence():
    """A huge rate diverges: its row says so, and the comparison goes on to its end."""
    result = compare(*SMALL, "--workers", "2", "--lr", "1e30", "--steps", "20", "--target-error", "0.5", "--out", "huge")
    for way in result["ways"]:
        assert way["stability"]["diverged"] == 1 and way["stability"]["final_error"] is None, way
        assert way["efficiency"]["seconds"]["median"] is None, "never"
        assert "not finite" in way["runs"][0]["reason"], way
    assert "never" in output("compare", "--resume", "huge")


def check_interruption():
    """Ctrl-C leaves what there is and nothing running; --resume does the rest and does not repeat what was done."""
    process = subprocess.Popen([HOCKET, "compare", *SMALL, *WAYS, "--steps", "4000", "--json", "--out", "stopped"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not rows("stopped/2-workers/seed-1"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (process.returncode, err)
    result = json.loads(out)
    assert not result["complete"] and "--resume stopped" in err, err
    assert [way["runs"][0]["status"] for way in result["ways"]] == ["done", "pending"], result
    assert not [child for child in children if is_alive(child)]
    assert pathlib.Path("stopped/compare.html").exists()

    first = pathlib.Path("stopped/1-worker/seed-1/summary.json").stat().st_mtime_ns
    result = compare("--resume", "stopped")
    assert result["complete"] and [way["efficiency"]["runs"] for way in result["ways"]] == [2, 2], result
    assert pathlib.Path("stopped/1-worker/seed-1/summary.json").stat().st_mtime_ns == first
    assert "leave out --seeds" in refusal(2, "compare", "--resume", "stopped", "--seeds", 3)
    assert "no comparison" in refusal(2, "compare", "--resume", "nowhere")


def check_losses():
    """A model that does not classify is judged by its loss."""
    pathlib.Path("line.csv").write_text("".join(f"{2 * i % 7 + i % 3},{i % 7},{i % 3}\n" for i in range(400)))
    done = run("compare", "--model", "linreg", "--data", "csv:line.csv,task=regression", "--validation", "0.2",
               "--threads", "1", "--lr", "0.01", "--batch", "32,64", "--out", "losses")
    assert done.returncode == 0, done.stderr
    assert "test loss" in done.stdout and json.loads(pathlib.Path("losses/compare.json").read_text())["measure"] == "test loss"


def check_refusals():
    assert "mesh tp=2" in refusal(2, "compare", *SMALL, "--workers", "1,2", "--mesh", "tp=2")
    assert "--workers" in refusal(2, "compare", *SMALL, "--workers", "1,many")
    assert "not empty" in refusal(2, "compare", *SMALL, "--out", "both/1-worker")
    ranks = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    assert "itself" in refusal(2, "compare", *SMALL, env=ranks)


def check_page(chromium, page, charts):
    dom = browse(chromium, os.path.abspath(page))
    drawn = drawn_pixels(dom)
    assert len(drawn) == charts, f"{page}: {len(drawn)} charts, expected {charts}"
    assert min(drawn) > 1000, f"{page}: a chart is blank: drawn pixels {drawn}"
    print(f"{page}: {charts} charts, {drawn} pixels")


workers_page = check_scores()
batches_page = check_batches()
check_pipelines()
disciplines_page = check_disciplines()
check_convex()
check_divergence()
check_interruption()
check_losses()
check_refusals()
browser = find_browser()
if not browser:
    skip("chromium is missing; the pages were written but not opened")
check_page(browser, workers_page, charts=8)
check_page(browser, batches_page, charts=7)
check_page(browser, disciplines_page, charts=9)
