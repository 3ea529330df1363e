#!/usr/bin/python3 -B
"""Four hosts, as network namespaces joined by a bridge: ranks meet, talk encrypted or plain, and fail together."""

import json
import os
import re
import signal
import subprocess
import sys

from support.program import HOCKET, is_alive, run

WORKER = os.environ["HOCKET_BUILD"] + "/tests/programs/collective_worker"
RING = os.environ["HOCKET_BUILD"] + "/tests/hocket_ring"
HOSTS = [f"hk{os.getpid() % 10000}{letter}" for letter in "abcd"]
BRIDGE = f"hk{os.getpid() % 10000}br"
LAUNCH = ["launch", "--ssh", "ip netns exec", "--address", "10.77.0.254", "--hosts", ",".join(h + ":1" for h in HOSTS)]


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True)


def make_hosts():
    for step in [["link", "add", BRIDGE, "type", "bridge"], ["addr", "add", "10.77.0.254/24", "dev", BRIDGE],
                 ["link", "set", BRIDGE, "up"]]:
        done = ip(*step)
        if done.returncode != 0:
            print(f"skipped: ip {' '.join(step)}: {done.stderr.strip() or done.stdout.strip()}")
            return False
    for number, host in enumerate(HOSTS, 1):
        inside, outside = f"{host}i", f"{host}o"
        for step in [["netns", "add", host], ["link", "add", outside, "type", "veth", "peer", "name", inside],
                     ["link", "set", inside, "netns", host], ["link", "set", outside, "master", BRIDGE, "up"],
                     ["-n", host, "addr", "add", f"10.77.0.{number}/24", "dev", inside],
                     ["-n", host, "link", "set", inside, "up"], ["-n", host, "link", "set", "lo", "up"]]:
            done = ip(*step)
            if done.returncode != 0:
                print(f"skipped: ip {' '.join(step)}: {done.stderr.strip() or done.stdout.strip()}")
                return False
    return True


def remove_hosts():
    for host in HOSTS:
        ip("link", "del", f"{host}o")
        ip("netns", "del", host)
    ip("link", "del", BRIDGE)


def check_ring(*options):
    done = run(*LAUNCH, *options, "--", RING, 0.3, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"rank \d ran \d+ laps", done.stdout)) == 4, done.stdout


def check_collectives():
    """Random collectives over TLS, and the benchmark as one rank a host."""
    done = run(*LAUNCH, "--", WORKER, "auto", 7, 0.5, timeout=60)
    assert done.returncode == 0 and done.stdout.count("done") == 4, (done.stdout, done.stderr)
    done = run(*LAUNCH, "--", HOCKET, "bench", "collectives", "--bytes", "1KiB,1MiB", "--seconds", 0.05, "--json",
               "--explain", timeout=60)
    assert done.returncode == 0 and "bytes per rank" in done.stderr, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["transport"], row["ranks"], row["bytes"]) for row in rows] == [("tcp", 4, 1024), ("tcp", 4, 1 << 20)], rows
    assert "on 4 hosts" in run(*LAUNCH, "--", HOCKET, "doctor", timeout=60).stdout


def check_kill():
    """A host's agent and rank vanish: everyone else knows, and nothing is left."""
    process = subprocess.Popen([HOCKET, *LAUNCH, "--", RING, "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pids = {}
    while len(pids) < 4:
        rank, pid = re.match(r"rank (\d) of 4 is ready, pid (\d+)", process.stdout.readline()).groups()
        pids[int(rank)] = int(pid)
    os.kill(pids[2], signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 4, process.returncode
    for rank in (0, 1, 3):
        assert re.search(rf"rank {rank} at .*: rank 2 .* was killed by signal 9", err), err
    assert not [pid for pid in pids.values() if is_alive(pid)]


if os.geteuid() != 0:
    print("skipped: network namespaces need root")
    sys.exit(77)
try:
    if not make_hosts():
        sys.exit(77)
    check_ring()
    check_ring("--plaintext")
    check_collectives()
    check_kill()
finally:
    remove_hosts()
