#!/usr/bin/python3 -B
"""hocket serve shows a queue and runs that go on in a browser, to who has the key, and to nobody else."""

import atexit
import http.client
import json
import re
import socket
import subprocess
import time
import urllib.parse

from support.browser import browse, drawn_pixels, find_browser, skip
from support.jobs import Cluster, wait_until
from support.program import HOCKET, SMALL, refusal, rows

EVIL = "<img src=x onerror=alert(1)>"


class Pages:
    """hocket serve with some options; it ends with this script."""

    def __init__(self, *options):
        self.process = subprocess.Popen([HOCKET, "serve", *map(str, options)], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.address = self.process.stdout.readline().strip()
        self.url = urllib.parse.urlsplit(self.address)
        assert self.url.hostname == "127.0.0.1" and len(self.url.query) > 40, self.address

    def get(self, path, query=None, method="GET", **headers):
        """Status and text of an answer; the path goes out as it is written here."""
        connection = http.client.HTTPConnection(self.url.netloc, timeout=30)
        connection.putrequest(method, f"{path}?{self.url.query if query is None else query}", skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def data(self, path):
        status, text = self.get(path)
        assert status == 200, text
        return json.loads(text)

    def close(self):
        self.process.terminate()
        assert self.process.wait(20) == 0


def check_refusals(pages):
    assert pages.get("/", "key=" + "0" * 64)[0] == 403
    assert pages.get("/api/jobs", "")[0] == 403
    assert pages.get("/", Host="evil.example")[0] == 403
    assert pages.get("/", method="POST")[0] == 405
    for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/jobs/../key", "//key", "/key"):
        status, text = pages.get(path)
        assert status == 404 and "root:" not in text, (path, status, text)


def check_slow_clients(pages):
    """Connections that say little and slowly are closed, and do not keep others out."""
    slow = [socket.create_connection((pages.url.hostname, pages.url.port)) for _ in range(40)]
    begin = time.monotonic()
    for each in slow:
        each.sendall(b"GET / HT")
    assert pages.get("/api/jobs")[0] == 200
    slow[0].settimeout(20)
    try:
        while time.monotonic() < begin + 20:
            slow[0].sendall(b"x")
            time.sleep(0.2)
        raise AssertionError("a request that trickles in is waited for")
    except OSError:
        pass
    for each in slow:
        each.close()


def text_of(dom):
    return re.sub(r"<(script|style)\b.*?</\1>", "", dom, flags=re.S)


def wait_for_jobs(pages, claim):
    """The data of the page once the claim holds for its jobs; the page may lag by half a second."""
    def found():
        data = pages.data("/api/jobs")
        return data if claim(data["jobs"]) else None
    return wait_until(found, 20)


def check_jobs_page(cluster, pages, chromium):
    running = cluster.submit([*SMALL, "--steps", "1000000", "--log-every", "1", "--eval-every", "50"], "--workers", "2", "--name",
                             f"long {EVIL}")
    waiting = cluster.submit([*SMALL, "--steps", "50"], "--name", "patient")
    wait_until(lambda: len(rows(f"cluster/jobs/{running}/run")) > 20, 60, cluster.list)
    data = wait_for_jobs(pages, lambda jobs: len(jobs) == 2 and jobs[0].get("curves"))
    assert [job["id"] for job in data["jobs"]] == [running, waiting] and data["trouble"] == "", data
    curves = data["jobs"][0]["curves"]["loss"]["train"]
    assert len(curves) > 10 and data["jobs"][1].get("curves") is None
    assert [(a["job"], a["workers"], a["ended"]) for a in data["attempts"]] == [(running, 2, None)], data["attempts"]
    if chromium:
        dom = browse(chromium, pages.address, seconds=5)
        text = text_of(dom)
        assert "<img" not in text and "onerror" in text, "hostile text must be shown, and only as text"
        for part in (f'<tr data-job="{running}">', f'<tr data-job="{waiting}">', "patient", ">running<", ">waiting<", ">here<",
                     "1 running · 1 waiting · 1 machines"):
            assert part in text, f"{part} is not on the page: {text}"
        drawn = drawn_pixels(dom)
        assert len(drawn) == 3 and min(drawn) > 1000, f"slots, loss, accuracy: drawn pixels {drawn}"
        assert int(re.search(r'data-bars="(\d+)"', dom).group(1)) == 1
        assert int(re.search(r'data-looks="(\d+)"', dom).group(1)) >= 1, "the page does not ask for news"
    cluster.ask("cancel", running)
    cluster.wait_for_end()
    data = wait_for_jobs(pages, lambda jobs: all(job["ended"] for job in jobs))
    assert sorted(a["job"] for a in data["attempts"]) == [running, waiting] and all(a["ended"] for a in data["attempts"])
    if chromium:
        dom = browse(chromium, pages.address)
        assert int(re.search(r'data-bars="(\d+)"', dom).group(1)) == 2 and ">cancelled<" in dom


def check_runs_page(chromium):
    training = subprocess.Popen([HOCKET, "train", *SMALL, "--steps", "1000000", "--log-every", "1", "--out", "run"],
                                stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(rows("run")) > 5, 60)
        pages = Pages("--run", "run")
        before = len(pages.data("/api/runs")["runs"][0]["series"]["train/loss"])
        if chromium:
            dom = browse(chromium, pages.address, seconds=5)
            assert int(re.search(r'data-looks="(\d+)"', dom).group(1)) >= 1, "the page does not ask for news"
            assert min(drawn_pixels(dom)) > 1000 and "mlp,hidden=16" in text_of(dom)
        wait_until(lambda: len(pages.data("/api/runs")["runs"][0]["series"]["train/loss"]) > before, 20)
    finally:
        training.terminate()
        training.wait(60)
    pages.close()


def check_errors():
    assert "no such run folder" in refusal(3, "serve", "--run", "nowhere")
    assert "not the folder of a scheduler" in refusal(2, "serve", "--jobs", ".")
    assert "what?" in refusal(2, "serve")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refusal(4, "serve", "--jobs", "cluster", "--port", str(taken.getsockname()[1]))


chromium = find_browser()
cluster = Cluster("cluster", agents=(("a", 2),))
pages = Pages("--jobs", cluster.folder)
check_refusals(pages)
check_slow_clients(pages)
check_jobs_page(cluster, pages, chromium)
check_errors()
cluster.close()
assert "does not answer" in pages.data("/api/jobs")["trouble"]
assert pages.data("/api/jobs")["jobs"], "what was known last is still shown"
pages.close()
check_runs_page(chromium)
if not chromium:
    skip("chromium is missing; the data was checked, the pages were not opened")
