#!/usr/bin/python3 -B
"""Whichever rank is killed in whichever collective: every survivor names it within a second; a rank that is stopped is
named within five."""

import signal

from support.ranks import Ranks, kill_one

delays = [delay for seed in range(12) for delay in kill_one(seed)]
print(f"{len(delays)} survivors named the rank that was killed, the last after {max(delays):.3f} s")

for transport in ("shm", "tcp"):
    ranks = Ranks(3, transport, seed=1)
    delays = ranks.failures(1, ranks.hit(1, signal.SIGSTOP), within=5.0)
    ranks.end()
    print(f"{transport}: a rank that was stopped was named after {max(delays):.3f} s")
