"""DRAMs for tests: small and hasty, so that short runs meet every rule."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from step.lowering.dram import Dram

SMALL = Dram(
    fabric_ps=1000, clock_ps=700, banks=4, bank_groups=2, row_bytes=16, group_beats=1, burst_bytes=8, burst=2,
    cl=5, cwl=3, trcd=4, trp=3, tras=9, tccd_l=3, trrd_s=2, trrd_l=3, tfaw=14, trtp=2, twr=5, twtr_s=2, twtr_l=4,
    turnaround=1, trefi=90, trfc=20, queue=3, out_of_turn=2,
)  # fmt: skip
"""A DRAM in which 64 beats of 8 bytes have many rows, and 63 cycles a refresh."""

NARROW = replace(SMALL, burst_bytes=4)
"""In which they are of two bursts each."""


def random_dram(choose: Random) -> Dram:
    """Any DRAM of beats of 8 bytes at most."""
    trfc, trp = choose.randint(1, 30), choose.randint(1, 9)
    return Dram(
        fabric_ps=choose.choice([500, 1000, 1300]), clock_ps=choose.choice([700, 1000, 1250]),
        banks=choose.choice([4, 8]), bank_groups=choose.choice([1, 2, 4]), row_bytes=choose.choice([32, 64]),
        group_beats=choose.choice([1, 2, 4]),
        burst_bytes=choose.choice([4, 8]), burst=choose.randint(1, 4),
        cl=choose.randint(4, 9), cwl=choose.randint(1, 4),
        trcd=choose.randint(1, 9), trp=trp, tras=choose.randint(1, 20), tccd_l=choose.randint(1, 6),
        trrd_s=choose.randint(1, 4), trrd_l=choose.randint(4, 7), tfaw=choose.randint(1, 30),
        trtp=choose.randint(1, 6), twr=choose.randint(1, 9), twtr_s=choose.randint(1, 4), twtr_l=choose.randint(4, 8),
        turnaround=choose.randint(1, 3), trefi=trfc + trp + choose.randint(1, 300), trfc=trfc,
        queue=choose.choice([1, 2, 3, 8]), out_of_turn=choose.choice([1, 2, 8]),
    )  # fmt: skip
