"""Runs the program as a user would, and says what went wrong when it does not behave."""

import json
import os
import pathlib
import subprocess

HOCKET = os.environ["HOCKET"]
SOURCE = pathlib.Path(os.environ["HOCKET_SOURCE"])
SMALL = ["--model", "mlp,hidden=16", "--data", "synthetic:mnist,samples=2000", "--threads", "1"]


def run(*arguments, **options):
    return subprocess.run([HOCKET, *map(str, arguments)], capture_output=True, text=True, **options)


def output(*arguments, **options):
    """What a command that succeeds prints."""
    done = run(*arguments, **options)
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stderr}"
    return done.stdout


def train(*arguments, **options):
    """The result of a training run, from --json."""
    return json.loads(output("train", "--json", "--quiet", *arguments, **options))


def refusal(code, *arguments, **options):
    """The one line that a command prints which must fail with this exit code."""
    done = run(*arguments, **options)
    lines = done.stderr.splitlines()
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}\n{done.stderr}"
    assert lines and lines[-1].startswith("hocket: "), f"{arguments}: {done.stderr!r}"
    assert len([line for line in lines if line.startswith("hocket: ")]) == 1, f"{arguments}: {done.stderr}"
    assert done.stdout == "", f"{arguments}: {done.stdout!r}"
    return lines[-1]


def rows(run_folder):
    """The whole lines of a run's metrics.jsonl."""
    path = pathlib.Path(run_folder) / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def is_alive(pid):
    """Whether a process still runs; one that has ended and waits for its parent does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
