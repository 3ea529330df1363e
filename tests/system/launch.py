#!/usr/bin/python3 -B
"""hocket launch: what it returns, who is blamed, that nothing survives it, and that strangers are kept out."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from support.program import HOCKET, is_alive, output, refusal, run

RING = os.environ["HOCKET_BUILD"] + "/tests/hocket_ring"


def start(*arguments, ranks=3):
    return subprocess.Popen([HOCKET, "launch", "-n", str(ranks), *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def start_ring(ranks=3):
    """A launch whose ring runs, and the pid of each rank."""
    process = start("--", RING, 60, ranks=ranks)
    pids = {}
    while len(pids) < ranks:
        line = process.stdout.readline()
        pids[int(line.split()[1])] = int(line.split()[-1])
    return process, [pids[rank] for rank in range(ranks)]


def await_end(pids, seconds):
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, f"{[pid for pid in pids if is_alive(pid)]} survive"
        time.sleep(0.01)


def check_exit_codes():
    assert output("launch", "-n", 3, "--", "true") == ""
    assert sorted(output("launch", "-n", 2, "--", "sh", "-c", "echo $RANK/$WORLD_SIZE").split()) == ["0/2", "1/2"]
    assert sorted(output("launch", "-n", 2, "--tag-output", "--", "echo", "-n", "--help").splitlines()) == [
        "[0] --help", "[1] --help"]
    refusal(2, "launch", "-n", 2)
    refusal(2, "launch", "--", "true")
    refusal(2, "launch", "-n", 3, "--hosts", "localhost:2", "--", "true")
    assert "nosuchprogram" in refusal(2, "launch", "-n", 2, "--", "nosuchprogram")
    assert run("launch", "-n", 2, "--", "cat", input="x").stdout == "x"  # Rank 0 reads, the others have nothing.


def check_first_failure():
    began = time.monotonic()
    done = run("launch", "-n", 3, "--", "sh", "-c", "[ $RANK != 1 ] || { seq 30 >&2; exit 7; }; sleep 60")
    assert done.returncode == 7, done
    assert time.monotonic() - began < 4
    assert re.search(r"^hocket: rank 1 \(pid \d+ on .*\) ended with exit code 7$", done.stderr, re.MULTILINE)
    assert done.stderr.endswith("the last lines of rank 1:\n" + "".join(f"  {n}\n" for n in range(11, 31)))
    # The others are told by SIGTERM, and a deaf one by SIGKILL.
    deaf = run("launch", "-n", 2, "--", "sh", "-c", "[ $RANK = 0 ] && exit 3; trap '' TERM; while :; do sleep 0.1; done")
    assert deaf.returncode == 3, deaf


def check_killed_rank():
    process, pids = start_ring(4)
    killed = time.monotonic()
    os.kill(pids[2], signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 4, process.returncode
    for rank in (0, 1, 3):
        when, what = re.search(rf"^rank {rank} at ([\d.]+): (.*)", err, re.MULTILINE).groups()
        assert what == f"rank 2 (pid {pids[2]} on {socket.gethostname()}) was killed by signal 9 (Killed)", what
        assert float(when) - killed < 1, f"rank {rank} noticed after {float(when) - killed} s"
    assert f"hocket: {what}" in err, err
    await_end(pids, 0.1)


def check_stopped_rank():
    process, pids = start_ring()
    stopped = time.monotonic()
    os.kill(pids[1], signal.SIGSTOP)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 4, process.returncode
    for rank in (0, 2):
        when, what = re.search(rf"^rank {rank} at ([\d.]+): (.*)", err, re.MULTILINE).groups()
        assert "rank 1 (pid" in what and "silent" in what, what
        assert float(when) - stopped < 5
    await_end(pids, 0.1)


def check_pause_below_the_limit():
    process, pids = start_ring()
    os.kill(pids[1], signal.SIGSTOP)
    time.sleep(1)
    os.kill(pids[1], signal.SIGCONT)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130, process.returncode
    await_end(pids, 0.1)


def check_killed_launcher():
    """Ranks, and what they started in sessions of their own, end with it."""
    script = "setsid sleep 60 & echo $!; sleep 60 & echo $!; wait"
    process = start("--", "sh", "-c", script, ranks=2)
    pids = [int(process.stdout.readline()) for _ in range(4)]
    assert all(map(is_alive, pids))
    process.kill()
    await_end(pids, 2)
    process.communicate(timeout=5)

    process, pids = start_ring()
    process.kill()
    await_end(pids, 2)
    process.communicate(timeout=5)


def check_orphans():
    """What ranks leave behind does not outlive a launch that ends well."""
    pids = [int(pid) for pid in output("launch", "-n", 2, "--", "sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!").split()]
    await_end(pids, 0.1)


def check_secrets():
    """No command line and no environment shows the key, which is 64 hexadecimal digits."""
    process, pids = start_ring()
    for pid in [process.pid, *pids]:
        for file in ("cmdline", "environ"):
            text = pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
            assert not re.search(rb"[0-9a-f]{64}", text), f"{file} of {pid}"
    environ = pathlib.Path(f"/proc/{pids[0]}/environ").read_bytes().split(b"\0")
    coordinator = next(e.split(b"=")[1].decode() for e in environ if e.startswith(b"HOCKET_COORDINATOR="))
    check_strangers(process, pids, ("127.0.0.1", int(coordinator.split(":")[1])))


def check_strangers(process, pids, coordinator):
    """At every port of the job, garbage, another version and a slow loris are closed in about a second."""
    ports = {coordinator[1]}
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in descriptors(pids):
            address, port = fields[1].split(":")
            assert address == "0100007F", "it listens at more than loopback"
            ports.add(int(port, 16))
    assert len(ports) == 4, ports
    for port in ports:
        for said in (b"GET / HTTP/1.1\r\n\r\n", b"HOCKET\r\n\x09\0\0\0", b"HOCKET\r\n\x01\0\0\0" + bytes(1000), b"H", b""):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.settimeout(3)
                began = time.monotonic()
                stranger.sendall(said)
                try:
                    while stranger.recv(100):
                        pass
                except ConnectionResetError:
                    pass
                assert time.monotonic() - began < 2
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 143, process.returncode
    assert err.count("refused a connection from 127.0.0.1") == 20, err
    assert err.count("it speaks version 9 of the protocol, this is version 1") == 4, err
    await_end(pids, 0.1)


def descriptors(pids):
    found = set()
    for pid in pids:
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                found.add(os.readlink(entry))
            except FileNotFoundError:
                pass
    return found


def check_agent_by_hand():
    key = pathlib.Path("key")
    key.touch(0o600)
    key.write_text(os.urandom(32).hex() + "\n")
    launcher = subprocess.Popen(
        [HOCKET, "launch", "--hosts", "localhost:1,elsewhere:2", "--address", "127.0.0.1", "--by-hand", "--key-file", "key",
         "--", RING, "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    typed = re.match(r"hocket: on elsewhere type: (.*)", launcher.stderr.readline()).group(1).split()
    agent = subprocess.run(typed, capture_output=True, text=True, timeout=30)
    out, err = launcher.communicate(timeout=30)
    assert launcher.returncode == 0 and agent.returncode == 0, (err, agent.stderr)
    assert len(re.findall(r"rank \d ran", out)) == 3, out
    key.chmod(0o644)
    assert "others can read it" in refusal(2, "launch", "--agent", "127.0.0.1:1", "--key-file", "key")


check_exit_codes()
check_first_failure()
check_killed_rank()
check_stopped_rank()
check_pause_below_the_limit()
check_killed_launcher()
check_orphans()
check_secrets()
check_agent_by_hand()
