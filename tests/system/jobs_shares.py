#!/usr/bin/python3 -B
"""Three jobs on two slots: each gets a third, and ends with the bits of a run that was never suspended."""

from support.shares import share_slots, shares

SLOT = 2.5

for attempt in range(3):
    measured = share_slots(f"cluster-{attempt}", SLOT)
    if measured:
        break
    print("measured again: the disk stood still")
assert measured, "the disk stood still each time"
nine, ten = measured
print("shares after nine slots:", [f"{share:.3f}" for share in shares(nine)],
      "after ten:", [f"{share:.3f}" for share in shares(ten)])
assert all(abs(3 * share - 1) <= 0.05 for share in shares(nine)), nine
# Ten slots of two make 7, 7 and 6: 0.35, 0.35 and 0.30 is the best there is.
assert all(abs(share - 1 / 3) <= 0.05 for share in shares(ten)), ten
assert sum(ten) >= 0.95 * 2 * 10 * SLOT, "slots stood empty"
