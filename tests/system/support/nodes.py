"""Runs with a parameter server, whose nodes are killed while they train."""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import time

from support.program import HOCKET, is_alive, train

COORDINATOR, FIRST_SERVER = 1, 2
# A rate so low that every update still changes the last bits.
MODEL = ["--model", "mlp,hidden=16", "--data", "synthetic:mnist,samples=2000", "--threads", "1", "--lr", "0.001"]
SLOW = ["--slow", "0=20"]


def nodes_of(folder):
    """The pids of a run's nodes by their numbers: recorder 0, coordinator 1, the servers, the workers."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = dict(each.split(b"=", 1) for each in path.read_bytes().split(b"\0") if b"=" in each)
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if folder.encode() in words and b"HOCKET_NODES" in variables:
            found[int(variables[b"HOCKET_RANK"])] = int(path.parent.name)
    return found


def expect_gone(pids):
    end = time.monotonic() + 5
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, pids
        time.sleep(0.01)


class Decisions:
    """What the coordinator of a run has last written down."""

    def __init__(self, folder):
        data = (pathlib.Path(folder) / "coordinator").read_bytes()
        self.restarts, _, _, self.epoch, count = struct.unpack_from("<iQHqI", data, 4)
        self.chains, at = [], 30
        for _ in range(count):
            size, = struct.unpack_from("<I", data, at)
            servers = struct.unpack_from(f"<{size}i", data, at + 4)
            joining, _, _ = struct.unpack_from("<iqq", data, at + 4 + 4 * size)
            self.chains.append((servers, joining))
            at += 4 + 4 * size + 20

    def is_whole(self, replicas):
        return bool(self.chains) and all(len(servers) == replicas and joining < 0 for servers, joining in self.chains)

    def heads(self):
        return {servers[0] for servers, _ in self.chains}


class DisturbedRun:
    """A training run that loses nodes; remembers when it was seen to make progress."""

    def __init__(self, folder, servers, replicas, *arguments):
        self.folder, self.servers, self.replicas = folder, servers, replicas
        words = [HOCKET, "train", *MODEL, *SLOW, "--servers", servers, "--replicas", replicas, *arguments,
                 "--log-every", 1, "--out", folder, "--json", "--quiet"]
        self.errors = open(f"{folder}.err", "w+")
        self.process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.metrics, self.progress, self.kills = None, [], []

    def look(self):
        if self.metrics is None and (pathlib.Path(self.folder) / "metrics.jsonl").exists():
            self.metrics = open(pathlib.Path(self.folder) / "metrics.jsonl")
        if self.metrics and self.metrics.read():
            self.progress.append(time.monotonic())

    def is_over(self):
        return self.process.poll() is not None

    def wait(self, condition, within):
        """Whether the condition came true; the run may have ended instead."""
        end = time.monotonic() + within
        while not self.is_over():
            self.look()
            if condition():
                return True
            assert time.monotonic() < end, f"{self.folder}: not within {within} s of {self.kills[-1:]}\n{self.said()}"
            time.sleep(0.01)
        return False

    def decisions(self):
        try:
            return Decisions(self.folder)
        except (FileNotFoundError, struct.error):
            return None

    def begin(self):
        return self.wait(lambda: len(self.progress) >= 3, 60)

    def kill(self, draw):
        """Kills the coordinator, a head or another server, sometimes as many servers as may die at once."""
        before, nodes = self.decisions(), nodes_of(self.folder)
        servers = [server for server in range(self.servers) if FIRST_SERVER + server in nodes]
        if len(servers) < self.servers:  # The run is about to end.
            return self.rest(0.1)
        others = [server for server in servers if server not in before.heads()]
        role = draw.choice(["coordinator", "head", "backup", "servers"])
        if role == "coordinator":
            victims = [COORDINATOR]
        elif role == "servers":
            victims = [FIRST_SERVER + server for server in draw.sample(servers, self.replicas - 1)]
        else:
            wanted = sorted(before.heads() & set(servers)) if role == "head" else others
            victims = [FIRST_SERVER + draw.choice(wanted or servers)]
        if not all(victim in nodes for victim in victims):
            return True
        for victim in victims:
            os.kill(nodes[victim], signal.SIGKILL)
        self.kills.append((time.monotonic(), role, len(victims)))
        return self.recover(before, victims)

    def recover(self, before, victims):
        """Waits until all are there again and the run goes on."""
        if victims == [COORDINATOR]:
            is_back = lambda now: now.restarts > before.restarts  # noqa: E731
        else:
            is_back = lambda now: now.epoch > before.epoch and now.is_whole(self.replicas)  # noqa: E731
        if not self.wait(lambda: (now := self.decisions()) is not None and is_back(now), 30):
            return False
        seen = len(self.progress)
        return self.wait(lambda: len(self.progress) > seen, 30)

    def rest(self, seconds):
        end = time.monotonic() + seconds
        return self.wait(lambda: time.monotonic() > end, seconds + 1)

    def said(self):
        return pathlib.Path(f"{self.folder}.err").read_text()

    def result(self):
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, f"{self.folder}: exit code {self.process.returncode}\n{self.said()}"
        return json.loads(out)

    def pauses(self):
        """For each kill, the longest time without progress that was seen to end between it and the next one, and who
        was killed."""
        found = []
        for i, (when, role, _) in enumerate(self.kills):
            until = self.kills[i + 1][0] if i + 1 < len(self.kills) else float("inf")
            gaps = [late - early for early, late in zip(self.progress, self.progress[1:])
                    if when < late <= until]
            if gaps:
                found.append((max(gaps), role))
        return found

    def count(self):
        return sum(count for _, _, count in self.kills)


def end_run(run):
    """A run that failed leaves nothing behind."""
    if not run.is_over():
        run.process.terminate()
        run.process.communicate(timeout=30)


def disturb(seed, sync, steps, most_kills=10**9):
    """Trains under random kills. Returns the run and its result."""
    draw = random.Random(seed)
    servers, replicas = draw.choice([(2, 2), (3, 2), (3, 3)])
    run = DisturbedRun(f"disturbed-{seed}", servers, replicas, "--workers", 2, "--sync", sync, "--steps", steps,
                       "--epochs", 10**6, "--seed", 1)
    try:
        going = run.begin()
        while going and run.count() < most_kills:
            going = run.rest(draw.uniform(0, 0.4)) and run.kill(draw)
        run.wait(lambda: False, 300)
        return run, run.result()
    except BaseException as error:
        end_run(run)
        raise AssertionError(f"seed {seed}: {sync}, {servers} servers, {replicas} replicas: {error}") from error


def undisturbed(sync, steps):
    return train(*MODEL, "--workers", 2, "--servers", 2, "--sync", sync, "--steps", steps, "--epochs", 10**6, "--seed", 1)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def kill_nodes(seed, sync, steps, most_kills=10**9):
    """Kills nodes of one run, which must end as if nothing had happened. Returns how many, and the pauses."""
    expected = undisturbed(sync, steps) if sync == "ps:bsp" else None
    run, result = disturb(seed, sync, steps, most_kills)
    if expected:
        assert result["parameter_hash"] == expected["parameter_hash"], f"seed {seed}: {run.kills}"
        assert result["samples"] == expected["samples"], (seed, result["samples"], expected["samples"])
    assert result["steps"] == steps, (seed, result)
    for pause, role in run.pauses():
        if pause > 1.5:
            print(f"seed {seed}, {sync}, {run.servers} servers, {run.replicas} replicas: {pause:.2f} s after {role}")
    return run.count(), [pause for pause, _ in run.pauses()]
