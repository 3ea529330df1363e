#!/usr/bin/python3 -B
"""`hocket bench step --workers` gives a row of one worker, one of several that train apart and one of several that train
together, and leaves nothing running: neither at the end nor when it is interrupted. Figures themselves are not judged
here."""

import json
import os
import signal
import sys

from support.sessions import assert_nothing_runs, members, start, wait_for

BENCH = [os.environ["HOCKET"], "bench", "step", "--models", "mlp", "--workers", "2"]

if len(os.sched_getaffinity(0)) < 2:
    print("skipped: two workers need two processors")
    sys.exit(77)

for transport in ["shm", "tcp"]:
    bench = start(*BENCH, "--threads", "1", "--seconds", "1", "--rounds", "2", "--transport", transport, "--json",
                  "--quiet")
    out, errors = bench.communicate()
    assert bench.returncode == 0 and not errors, errors
    assert_nothing_runs(bench)
    one, apart, both = json.loads(out)
    for row, peer, workers in [(one, "hocket", 1), (apart, "unrelated", 2), (both, "hocket", 2)]:
        assert (row["model"], row["peer"], row["workers"], row["threads"]) == ("mlp", peer, workers, 1), row
        assert 0 < row["p10"] <= row["items_per_second"] <= row["p90"] and len(row["samples"]) == 2, row
        assert 0 < row["share_of_peak"] < 1.5, row
    assert "efficiency" not in one and 0 < apart["efficiency"] < 2 and 0 < both["efficiency"] < 2, (apart, both)
    assert both["settings"] == {"transport": transport}, both

for how in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
    bench = start(*BENCH, "--seconds", "60")
    wait_for(lambda: len(members(bench)) > 6)  # The bench, one worker, two apart, two ranks, their coordinator.
    os.kill(bench.pid, how)
    bench.communicate()
    assert_nothing_runs(bench)

bad = start(*BENCH, "--transport", "pigeon")
assert "shm tcp" in bad.communicate()[1] and bad.returncode == 2, bad
bad = start(*BENCH, "--threads", "1000")
assert "processors" in bad.communicate()[1] and bad.returncode == 2, bad
