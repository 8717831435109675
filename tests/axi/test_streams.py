"""Streams in memory behind AXI4 masters: bits, limits, lists that lie, resets."""

from __future__ import annotations

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from boards import ICARUS
from registered import Started
from streamed import LIES, Streamed

from step.language.faults import Fault
from step.lowering.dma import REQUEST

DONE, FAULT = 1, 2
SIMULATORS = ["verilator", pytest.param("icarus", marks=pytest.mark.skipif(ICARUS is None, reason="needs Icarus"))]


@pytest.fixture(scope="module", params=SIMULATORS)
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return Streamed(tmp_path_factory.mktemp("board"), request.param)


def check(board: Streamed, *runs: Started) -> None:
    """All runs that are not stopped are right, or end with a fault that names the unit; nothing else is written."""
    for run, played in zip(runs, board.play(*runs), strict=True):
        assert board.keeps(run, played)
        if played["told"] == DONE:
            assert not run.limits and run.data not in LIES
            board.check(run, played)
        elif played["told"] == FAULT:
            unit = board.netlist.units[board.field(played, "fault", "unit")].name
            code = board.field(played, "fault", "code")
            if run.limits:
                assert (code, f"{unit}_") == (Fault.REGION_FULL, next(iter(run.limits))[:2])
            else:
                assert (code, unit) == (Fault.LIST_TOO_SHORT, "x") and run.data in LIES
        else:
            assert run.stop is not None


def test_runs_follow_each_other_with_other_data(board: Streamed) -> None:
    latencies, pauses = (0, 3, 40), (0.0, 0.3, 0.7)
    check(board, *(Started(at % 2, at, latencies[at % 3], pauses[at // 3 % 3]) for at in range(12)))


def test_a_region_that_is_too_small_is_a_fault(board: Streamed) -> None:
    """The room of any part of a sink, down to nothing, and a run with all of it behind."""
    request = REQUEST * board.board.beat_bytes
    limits = [{f"{sink}_{part}": room * request} for sink in "yw" for part, room in (("values", 0), ("list", 1))]
    limits += [{"y_values": 2 * request}, {"w_values": request}, {"y_list": 0}]
    check(board, *(run for each in limits for run in (Started(limits=each), Started(1))))


def test_a_list_that_lies_is_a_fault(board: Streamed) -> None:
    check(board, *(Started(data, pauses=pauses) for pauses in (0, 0.7) for lie in LIES for data in (lie, 1)))


def test_a_reset_may_come_in_any_cycle(board: Streamed) -> None:
    stops = [*range(1, 240, 17), 300, 400]
    check(board, *(run for at in stops for run in (Started(seed=at, stop=at, latency=30), Started(at % 2, at))))
