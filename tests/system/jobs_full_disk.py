#!/usr/bin/python3 -B
"""The scheduler's disk fills up: submissions are refused in one line, nothing that was taken is lost, and once there is room it
goes on."""

import atexit
import pathlib
import subprocess
import sys

from support.jobs import Cluster
from support.program import SMALL

disk = pathlib.Path("disk")
disk.mkdir()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
    print("no permission to mount a small file system")
    sys.exit(77)
atexit.register(lambda: subprocess.run(["umount", "-l", disk]))

cluster = Cluster("disk/jobs", agents=())
first = cluster.submit([*SMALL, "--steps", "5"])
ballast = disk / "ballast"
refused = None
with ballast.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 4096)
    except OSError:
        pass
for _ in range(200):
    refused = cluster.call("submit", "--", *SMALL, "--steps", "5", "--checkpoint-every", "1" * 200)
    if refused.returncode != 0:
        break
print(refused.stderr, end="")
assert refused.returncode == 1 and "queue" in refused.stderr and "full" in refused.stderr, refused
assert refused.stderr.count("\n") == 1
taken = len(cluster.list()["jobs"])
cluster.server.kill()
cluster.server.wait()
ballast.unlink()
cluster.start_server()
assert len(cluster.list()["jobs"]) == taken and cluster.job(first)["state"] == "waiting"
cluster.submit([*SMALL, "--steps", "5"])
cluster.close()
