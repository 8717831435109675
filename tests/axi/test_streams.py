"""Streams in memory behind AXI4 masters: bits, limits, lists that lie, resets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from boards import ICARUS
from registered import Started
from streamed import LIES, Streamed

from step.language.faults import Fault
from step.lowering.dma import REQUEST

pytestmark = pytest.mark.large

DONE, FAULT, WATCHDOG = 1, 2, 4
_NEEDS = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")
MOSTLY_ONE = ["verilator", pytest.param("icarus", marks=[_NEEDS, pytest.mark.slow])]


@pytest.fixture(scope="module")
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return Streamed(tmp_path_factory.mktemp("board"), request.param)


def check(board: Streamed, *runs: Started) -> None:
    """All runs that are not stopped are right, or end with a fault that names the unit; nothing else is written."""
    for run, played in zip(runs, board.play(*runs), strict=True):
        assert board.keeps(run, played)
        if played["told"] == DONE:
            assert not run.limits and run.data not in LIES and not played["failed"]
            board.check(run, played)
        elif played["told"] == FAULT and run.errors:
            board.check_error(run, played)
        elif played["told"] == FAULT:
            unit = board.netlist.units[board.field(played, "fault", "unit")].name
            code = board.field(played, "fault", "code")
            if run.limits:
                assert (code, unit) == (Fault.REGION_FULL, next(iter(run.limits)).partition("_")[0])
            else:
                assert (code, unit) == (Fault.LIST_TOO_SHORT, "x") and run.data in LIES
        else:
            assert run.stop is not None


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_runs_follow_each_other_with_other_data(board: Streamed) -> None:
    runs = [Started(at % 2, at, (0, 3, 40)[at % 3], (0.0, 0.3, 0.7)[at // 3 % 3]) for at in range(12)]
    check(board, *runs[:: 5 if board.simulator == "icarus" else 1])


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_a_region_that_is_too_small_is_a_fault(board: Streamed) -> None:
    """The room of any part of a sink and of a store, down to nothing, and a run with all of it behind."""
    request = REQUEST * board.board.beat_bytes
    rooms = [("y_values", 2), ("y_list", 1), ("w_values", 0), ("w_list", 1), ("y_values", 0), ("y_list", 0)]
    rooms += [("u", 2), ("u", 0)]
    limits = [{name: room * request} for name, room in rooms]
    check(board, *(run for each in limits for run in (Started(limits=each), Started(1))))


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_a_list_that_lies_is_a_fault(board: Streamed) -> None:
    check(board, *(Started(data, pauses=pauses) for pauses in (0, 0.7) for lie in LIES for data in (lie, 1)))


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_a_reset_may_come_in_any_cycle(board: Streamed) -> None:
    stops = [*range(1, 240, 34), 300, 400]
    check(board, *(run for at in stops for run in (Started(seed=at, stop=at, latency=30), Started(at % 2, at))))


@pytest.mark.slow
@pytest.mark.parametrize("board", ["verilator"], indirect=True)
@pytest.mark.parametrize("latency", [1, 12])
def test_a_reset_may_come_in_every_cycle(board: Streamed, latency: int) -> None:
    stop = Started(latency=latency)
    (whole,) = board.play(stop)
    stops = range(board.field(whole, "cycles_low", "value") + 3)
    check(board, *(run for at in stops for run in (replace(stop, seed=at, stop=at), replace(stop, data=1))))


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_any_beat_may_have_an_error(board: Streamed) -> None:
    """Of lists, and of values."""
    every_error(board, [0, 3, 40, 100])


@pytest.mark.slow
@pytest.mark.parametrize("board", ["verilator"], indirect=True)
def test_every_beat_may_have_an_error(board: Streamed) -> None:
    every_error(board)


def every_error(board: Streamed, some: Sequence[int] = ()) -> None:
    """Beats, read and written, ``some`` or all, answered with SLVERR or DECERR, each run before one without."""
    (whole,) = board.play(Started())
    runs = [
        Started(seed=at, errors={way: at}, answer=answer)
        for way, beats in whole["beats"].items()
        for at in some or range(beats)
        for answer in (("SLVERR", "DECERR")[at % 2 :][:1] if some else ("SLVERR", "DECERR"))
    ]
    check(board, *(each for run in runs for each in (run, Started(1, run.seed))))


@pytest.mark.parametrize("board", MOSTLY_ONE, indirect=True)
def test_the_watchdog_sees_memory_that_does_not_answer(board: Streamed) -> None:
    dead, after = board.play(Started(dead=True, watchdog=300), Started(1, watchdog=300))
    assert dead["told"] == WATCHDOG and board.field(dead, "status", "memory_waits")
    assert after["told"] == DONE
    board.check(Started(1), after)
