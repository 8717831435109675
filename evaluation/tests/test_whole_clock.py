"""Clocks of whole designs: registers for speed take few cycles, and the results are of the designs as they are."""

from __future__ import annotations

import pytest

from benchmarks.whole_clock import DESIGNS, FAST, PLAIN, made, read, shown
from step.running.backend import run


@pytest.mark.parametrize("name", DESIGNS)
def test_registers_for_speed_take_at_most_a_tenth_more_cycles(name: str) -> None:
    cycles = {fabric: run(made(name, fabric), "approx").cycles for fabric in (PLAIN, FAST)}
    assert cycles[FAST] <= 1.1 * cycles[PLAIN]
    for row in read():
        if row["design"] == name:
            assert int(row["cycles"]) == cycles[row["fabric"]], row


def test_time_is_that_of_the_median_over_the_plain_fabric() -> None:
    rows = [
        {"design": "d", "fabric": fabric, "speed": "6", "cycles": cycles, "sites": "9", "mhz": mhz, "path": mhz}
        for fabric, cycles, clocks in ((PLAIN, "200", ("40", "50", "60")), (FAST, "220", ("120", "100", "110")))
        for mhz in clocks
    ]
    times, paths = (list(shown(rows).columns[at].cells) for at in (7, 8))
    assert (times, paths) == (["1.00", "0.50"], ["50", "110"])
