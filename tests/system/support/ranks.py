"""Ranks as processes that carry out random collectives, to be killed and stopped."""

import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time

WORKER = pathlib.Path(os.environ["HOCKET_BUILD"]) / "tests/programs/collective_worker"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Ranks:
    """`world` processes that met by torchrun's variables; every one has said "started"."""

    def __init__(self, world, transport, seed, seconds=60):
        port = str(free_port())
        self.processes = []
        for rank in range(world):
            environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": port}
            self.processes.append(subprocess.Popen([WORKER, transport, str(seed), str(seconds)], env=environment, text=True,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for process in self.processes:
            line = process.stdout.readline()
            assert line == "started\n", (line, process.stderr.read())

    def hit(self, rank, number):
        """Sends a signal; returns when."""
        now = time.monotonic()
        self.processes[rank].send_signal(number)
        return now

    def failures(self, victim, since, within):
        """What each survivor says, after how many seconds; they must all end with exit code 4 and blame the victim."""
        delays = []
        for rank, process in enumerate(self.processes):
            if rank == victim:
                continue
            try:
                out, err = process.communicate(timeout=max(0.1, since + within + 5 - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"rank {rank} hangs after rank {victim} was hit") from None
            match = re.match(r"failed: ([0-9.]+) (.*)", out)
            assert match and process.returncode == 4, (rank, process.returncode, out, err)
            delay = float(match.group(1)) - since
            assert f"rank {victim}" in match.group(2).split("failed: ", 1)[-1], (victim, match.group(2))
            assert delay <= within, (rank, delay, match.group(2))
            delays.append(delay)
        return delays

    def end(self):
        for process in self.processes:
            process.kill()
            process.communicate()


def kill_one(seed):
    """Kills a random rank of a random job at a random time. Returns the survivors' delays."""
    draw = random.Random(seed)
    world, transport = draw.randint(2, 8), draw.choice(["shm", "tcp"])
    ranks = Ranks(world, transport, seed)
    try:
        time.sleep(draw.uniform(0, 0.2))
        victim = draw.randrange(world)
        return ranks.failures(victim, ranks.hit(victim, signal.SIGKILL), within=1.0)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {world} ranks over {transport}: {error}") from None
    finally:
        ranks.end()
