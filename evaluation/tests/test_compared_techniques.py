"""Savings of the techniques of `benchmarks.techniques`, and that each is exact in RTL."""

from __future__ import annotations

import pytest

from benchmarks.techniques import TechniqueSizes
from cosim.comparing.compare import compare
from step import metrics
from step.running.interpreter import bind

SMALL = TechniqueSizes(tokens=6, hidden=16, inner=16, columns=8, rows=2)


@pytest.mark.slow
def test_every_technique_is_exact() -> None:
    for program in SMALL.techniques().values():
        assert compare(program).passed


def test_what_is_saved() -> None:
    """By dynamic tiles most traffic, and by turns memory."""
    static, dynamic, turns = (
        metrics(each.graph, each.fabric).bind(bind(each.graph, each.inputs))
        for each in TechniqueSizes().techniques().values()
    )
    assert (static.off_chip_bytes, dynamic.off_chip_bytes, turns.off_chip_bytes) == (909_568, 221_440, 221_440)
    assert turns.on_chip_bytes < static.on_chip_bytes < dynamic.on_chip_bytes
