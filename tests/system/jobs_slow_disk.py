#!/usr/bin/python3 -B
"""A disk that takes seconds to sync holds up what must be on it, and nothing else: questions are answered, agents hear
from the coordinator, and a line says how long it took."""

import shutil
import subprocess
import time
import urllib.request

from support.jobs import Cluster
from support.program import HOCKET

JOB = ["--model", "mlp,hidden=32", "--data", "synthetic:mnist,samples=1500", "--threads", "1", "--steps", "5"]
DELAY = 4

if not shutil.which("strace"):
    print("not tested: there is no strace here to slow down the disk with")
    raise SystemExit(77)

cluster = Cluster("cluster", "--policy", "fifo")
tracer = subprocess.Popen(["strace", "-f", "-p", str(cluster.server.pid), "-e", "trace=fdatasync,fsync",
                           "-e", f"inject=fdatasync,fsync:delay_enter={DELAY}000000"], stderr=subprocess.PIPE, text=True)
if "attached" not in (said := tracer.stderr.readline()):
    print("not tested: strace cannot watch a process here:", said.strip())
    raise SystemExit(77)
pages = subprocess.Popen([HOCKET, "serve", "--jobs", cluster.folder], stdout=subprocess.PIPE, text=True)
page = pages.stdout.readline().strip().replace("/?", "/api/jobs?")
began = time.monotonic()
submission = subprocess.Popen([HOCKET, "jobs", "submit", "--dir", cluster.folder, "--", *JOB], stdout=subprocess.DEVNULL)
slowest = 0
while submission.poll() is None:
    asked = time.monotonic()
    cluster.list()
    urllib.request.urlopen(page, timeout=30).read()  # Asks for the history, too, which is on disk.
    slowest = max(slowest, time.monotonic() - asked)
    time.sleep(0.1)
took = time.monotonic() - began
assert submission.returncode == 0 and took >= DELAY, (submission.returncode, took)
assert slowest < DELAY / 2, f"a question took {slowest:.1f} s while the disk took {took:.1f} s"
for process in (tracer, pages):
    process.terminate()
    process.wait()
assert [job["state"] for job in cluster.wait_for_end(60)] == ["done"]
log = cluster.log_text()
assert log.count("machine a is here") == 1 and "silent" not in log, log
assert "the queue took 4." in log, log
cluster.close()
