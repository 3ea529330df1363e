"""Programs in sessions of their own, so that what they leave running can be found."""

import os
import subprocess
import time


def start(*command):
    return subprocess.Popen(command, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def members(process):
    """The processes of its session that are alive."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                state, _, _, session = stat.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == process.pid and state not in "ZX":
            found.append(int(pid))
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def assert_nothing_runs(process):
    wait_for(lambda: not members(process))  # A killed process takes a moment to go.
