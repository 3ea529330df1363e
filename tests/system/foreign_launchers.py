#!/usr/bin/python3 -B
"""Ranks find each other under torchrun's variables, mpirun and Slurm's; a part of such a set is refused."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

RING = os.environ["HOCKET_BUILD"] + "/tests/hocket_ring"
os.environ["XDG_RUNTIME_DIR"] = os.getcwd()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(seconds, variables):
    return subprocess.Popen([RING, str(seconds)], env={**os.environ, **variables}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def torchrun(rank, world, port):
    return {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}


def check_all_ran(processes):
    for rank, process in enumerate(processes):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and f"rank {rank} ran" in out, (out, err)


def check_torchrun():
    port = free_port()
    check_all_ran([start(0.2, torchrun(rank, 3, port)) for rank in range(3)])
    assert not os.listdir("hocket"), "the key stayed behind"
    key = {"HOCKET_JOB_KEY": os.urandom(32).hex()}
    port = free_port()
    check_all_ran([start(0.2, {**torchrun(rank, 2, port), **key}) for rank in range(2)])


def check_coordinator_killed():
    """Rank 0 has the coordinator: the others name it."""
    port = free_port()
    processes = [start(60, torchrun(rank, 3, port)) for rank in range(3)]
    for process in processes:
        process.stdout.readline()
    killed = time.monotonic()
    processes[0].send_signal(signal.SIGKILL)
    for process in processes[1:]:
        _, err = process.communicate(timeout=20)
        when, what = re.search(r"at ([\d.]+): (.*)", err).groups()
        assert process.returncode == 4 and what.startswith(f"rank 0 (pid {processes[0].pid} on "), err
        assert float(when) - killed < 1


def check_slurm():
    step = {"SLURM_NTASKS": "2", "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": "localhost"}
    check_all_ran([start(0.2, {**step, "SLURM_PROCID": str(rank)}) for rank in range(2)])


def check_mistakes():
    for variables, name in [({"RANK": "0"}, "WORLD_SIZE"), ({"OMPI_COMM_WORLD_RANK": "0"}, "OMPI_COMM_WORLD_SIZE"),
                            ({"HOCKET_RANK": "0"}, "HOCKET_WORLD_SIZE"), ({"PMI_RANK": "1"}, "PMI_SIZE")]:
        process = start(0, variables)
        _, err = process.communicate(timeout=10)
        assert process.returncode == 2 and f"without {name}" in err, err
    taken = socket.create_server(("127.0.0.1", 0))
    process = start(0, torchrun(0, 2, str(taken.getsockname()[1])))
    _, err = process.communicate(timeout=10)
    assert process.returncode == 4 and "Address already in use" in err, err
    process = start(0, {**torchrun(1, 2, "1"), "MASTER_ADDR": "192.0.2.1"})
    _, err = process.communicate(timeout=10)
    assert process.returncode == 2 and "HOCKET_JOB_KEY" in err, err


def check_mpirun():
    if not shutil.which("mpirun"):
        print("no mpirun here: not tried")
        return
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", RING, "0.2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.count(" ran ") == 3, (done.stdout, done.stderr)
    assert "rank 0 of 3, by mpirun" in done.stderr, done.stderr


check_torchrun()
check_coordinator_killed()
check_slurm()
check_mistakes()
check_mpirun()
