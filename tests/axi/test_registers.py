"""Registers of a board, by a host that has nothing else: runs, faults, hangs, resets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from boards import ICARUS
from registered import DATA, DEADLOCK, DONE, FAULT, SHORT, WATCHDOG, Registered, Started, kept_board

from sim_approx.backend import simulate
from step.language.faults import Fault
from step.lowering.registers import MAGIC, VERSION
from step.programs.data.inputs import bind_inputs
from step.running.deadlock import Blockage, find_cycle, find_waits
from step.running.result import Activity

pytestmark = pytest.mark.large

needs_icarus = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")
LATENCIES = (1, 60, 200)
"""Most cycles that memory takes for a beat."""


def check(board: Registered, *runs: Started) -> list[dict[str, Any]]:
    """All of ``runs`` that are to end well do; what happened in them."""
    played = board.play(*runs)
    for run, each in zip(runs, played, strict=True):
        if run.stop is not None and not each["told"]:
            assert not board.field(each, "status", "done")
        elif run.errors:
            assert each["told"] == FAULT
            board.check_error(run, each)
        elif each["told"] != WATCHDOG:
            board.check(run, each)
            assert each["told"] == DONE
            assert board.field(each, "status", "done") and board.field(each, "status", "idle")
            assert not board.field(each, "status", "busy") and not board.field(each, "fault", "code")
    return played


def test_runs_follow_each_other_with_other_data(board: Registered) -> None:
    runs = [Started(data=at, seed=at, latency=at % 4, pauses=at % 3 / 4) for at in range(0, DATA, 3)]
    played = check(board, *runs)
    assert len({str(each["sinks"]) for each in played}) > len(runs) * 3 // 4
    assert all(each["told"] == DONE for each in played)
    registers = played[-1]["registers"]
    assert registers["magic"] == MAGIC and registers["version"] == VERSION
    assert f"{registers['hash']:08x}" == board.hash[:8]


def test_hangs_are_told_apart(board: Registered) -> None:
    """And a run after each is right."""
    hangs = [
        Started(without_done="x", watchdog=500),
        Started(dead=True, watchdog=500),
        Started(unread="t", watchdog=500),
        Started(data=DEADLOCK, watchdog=500),
    ]
    played = check(board, *(run for each in hangs for run in (each, Started(data=3))))
    assert [each["told"] for each in played] == [WATCHDOG, DONE] * len(hangs)
    for each in played[::2]:
        assert board.field(each, "fault", "code") == Fault.NO_MOVEMENT
    assert [board.field(each, "status", "memory_waits") for each in played[::2]] == [0, 1, 0, 0]
    assert [bool(find_cycle(board.waits(each))) for each in played[::2]] == [False, False, False, True]
    numbers = {each.name: at for at, each in enumerate(board.netlist.units)}
    not_given, memory, not_read, _ = played[::2]
    assert ("x_broadcast", "x", False) in _named(board.waits(not_given))
    assert not_given["activities"][numbers["x"]] == Activity.STARVED
    assert ("copied", "direct", False) in _named(board.waits(memory))
    assert not_read["activities"][numbers["t"]] == Activity.BLOCKED


def test_a_deadlock_is_that_of_the_report(board: Registered) -> None:
    """Edges, and their cycle, are those that the fast model reports."""
    (played,) = board.play(Started(data=DEADLOCK, watchdog=500))
    snapshot = simulate(board.netlist, bind_inputs(board.graph, board.inputs[DEADLOCK])).snapshot()
    reported = find_waits(board.netlist, snapshot)
    waits = board.waits(played)
    assert sorted(_named(waits)) == sorted(_named(reported))
    assert set(_named(find_cycle(waits))) == set(_named(find_cycle(reported)))
    assert len(find_cycle(waits)) > 2
    activities = [Activity(each) for each in played["activities"][: len(board.netlist.units)]]
    assert activities == [snapshot.activities[each.name] for each in board.netlist.units]


def _named(waits: list[Blockage]) -> list[tuple[str, str, bool]]:
    return [(each.unit.name, each.awaited(), each.full) for each in waits]


def test_a_start_during_a_run_is_refused(board: Registered) -> None:
    first, second = check(board, Started(again=True), Started(data=1))
    assert board.field(first, "error", "start_refused") and not board.field(second, "error", "start_refused")


def every_error(board: Registered, data: int) -> None:
    """Any beat of the run of ``data``, read or written, answered with SLVERR or DECERR, then a run without."""
    (whole,) = check(board, Started(data=data))
    places = [(way, at) for way, beats in whole["beats"].items() for at in range(beats)]
    runs = [
        run
        for way, at in places
        for answer in ("SLVERR", "DECERR")
        for run in (Started(data=data, errors={way: at}, answer=answer), Started(data=data, seed=at))
    ]
    played = check(board, *runs)
    assert len(places) > 7 and all(each["failed"] for run, each in zip(runs, played, strict=True) if run.errors)


def test_any_beat_may_have_an_error(board: Registered) -> None:
    every_error(board, SHORT)


@pytest.mark.slow
def test_any_beat_of_many_rows_may_have_an_error(board: Registered) -> None:
    every_error(board, 43)


def test_a_reset_ends_a_run(board: Registered) -> None:
    check(
        board,
        *(run for at in range(1, 80, 9) for run in (Started(seed=at, stop=at, latency=60), Started(data=at, seed=at))),
    )


def test_a_reset_may_come_when_a_run_ends(board: Registered) -> None:
    """The interrupt of its end is not that of the next run."""
    (whole,) = check(board, Started(data=1, latency=1))
    last = board.field(whole, "cycles_low", "value")
    stops = (Started(data=1, latency=1, stop=at) for at in range(last - 8, last))
    check(board, *(run for stop in stops for run in (stop, Started(data=4))))


@pytest.mark.slow
@pytest.mark.parametrize("latency", LATENCIES)
def test_a_reset_may_come_in_every_cycle(board: Registered, latency: int) -> None:
    (whole,) = check(board, Started(latency=latency, data=1))
    cycles = board.field(whole, "cycles_low", "value")
    stops = (Started(seed=at, stop=at, latency=latency, data=1) for at in range(cycles + 3))
    check(board, *(run for stop in stops for run in (stop, Started(latency=latency, data=4))))


@needs_icarus
@pytest.mark.parametrize("period", [26, *(pytest.param(each, marks=pytest.mark.slow) for each in (None, 4))])
def test_boards_on_icarus_and_with_another_clock(period: int | None, tmp_path: Path) -> None:
    board = kept_board(tmp_path, "icarus", period)
    check(
        board,
        Started(pauses=0, latency=0),
        Started(data=1, seed=3, stop=40, latency=20),
        Started(data=3, errors={"read": 2}),
        Started(data=4, seed=5, latency=9, pauses=0.6),
        Started(data=DEADLOCK, watchdog=800),
        Started(data=7, errors={"write": 1}, answer="DECERR"),
        Started(data=8),
    )


def test_tools_are_told_the_clock_of_buses_and_streams(board: Registered) -> None:
    text = (board.directory / "design" / "fabric_kept_board.sv").read_text()
    assert '"ASSOCIATED_BUSIF x:w:t:y:m_axi0:m_axi1:s_axil, ASSOCIATED_RESET rst" *)\n  input wire clk' in text
