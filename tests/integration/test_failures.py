"""What goes wrong at run time, told in the same words by every back end."""

from __future__ import annotations

import re
from functools import partial

import fragile
import pytest

from cosim import backend as rtl
from sim_approx import backend as approx
from step.errors import Deadlock, Runaway, StreamFault
from step.running.interpreter import interpret
from step.running.result import Status

BACKENDS = {"approx": approx.run, "rtl": partial(rtl.run, optimize=False)}


def text_of(error: Exception) -> str:
    """The message, with paths cut to the file's name."""
    return re.sub(r"[^ (]*fragile\.py", "fragile.py", str(error))


def test_good_data_runs_everywhere() -> None:
    program = fragile.program()
    meaning = interpret(program.graph, fragile.GOOD).outputs
    values = [float(token.value[0, 0]) for token in meaning["scaled_rows"]]
    assert values == fragile.expected(fragile.GOOD["rows"])
    exact = rtl.run(program.graph, fragile.GOOD, program.fabric, optimize=False)
    assert exact.status is Status.FINISHED
    assert exact.cycles == approx.run(program.graph, fragile.GOOD, program.fabric).cycles


def test_stops_that_disagree_are_the_same_error_in_all_back_ends() -> None:
    program = fragile.program()
    wanted = (
        "map 'product' (fragile.py:26): its inputs do not have the same shape\n"
        "  token 0 of left is a value\n"
        "  token 0 of right is a value with S1"
    )
    with pytest.raises(StreamFault) as found:
        interpret(program.graph, fragile.RAGGED)
    assert text_of(found.value) == wanted
    for run in BACKENDS.values():
        with pytest.raises(StreamFault) as found:
            run(program.graph, fragile.RAGGED, program.fabric)
        assert text_of(found.value) == wanted
        assert found.value.result is not None
        assert found.value.result.status is Status.FAULT


DEADLOCK = """\
deadlock: from cycle 16 on nothing can move, and 7 of 11 operators are not finished
the smallest depths that clear it:
  rows_broadcast.1: 9 instead of 2 (input 1 of expand 'spread' (fragile.py:29): rows.buffered(9))
  rows_broadcast.2: 9 instead of 2 (input 0 of map 'scaled' (fragile.py:30): rows.buffered(9))
who waits for what:
  source 'rows' (fragile.py:28) waits for space in rows -> rows_broadcast (depth 2, full)
  broadcast 'rows_broadcast' (fragile.py:28) waits for space in rows_broadcast.1 -> spread (depth 2, full)
  broadcast 'rows_broadcast' (fragile.py:28) waits for space in rows_broadcast.2 -> scaled (depth 2, full)
  accum 'row_sum' (fragile.py:29) waits for a token of rows_broadcast.0 -> row_sum (depth 2, empty)
  reshape 'alone' (fragile.py:29) waits for a token of row_sum -> alone (depth 2, empty)
  expand 'spread' (fragile.py:29) waits for a token of alone -> spread (depth 2, empty)
  map 'scaled' (fragile.py:30) waits for a token of spread -> scaled (depth 2, empty)
  sink 'scaled_rows' (fragile.py:30) waits for a token of scaled -> scaled_rows (depth 2, empty)
the cycle of waits:
  rows_broadcast waits for space in rows_broadcast.1 -> spread (depth 2, full)
  spread waits for a token of alone -> spread (depth 2, empty)
  alone waits for a token of row_sum -> alone (depth 2, empty)
  row_sum waits for a token of rows_broadcast.0 -> row_sum (depth 2, empty)"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_deadlock_is_reported_with_the_depths_that_clear_it(backend: str) -> None:
    program = fragile.program()
    interpret(program.graph, fragile.LONG_ROW)  # without bounds on channels there is no deadlock
    with pytest.raises(Deadlock) as found:
        BACKENDS[backend](program.graph, fragile.LONG_ROW, program.fabric)
    assert text_of(found.value) == DEADLOCK
    assert found.value.result is not None
    assert found.value.result.status is Status.DEADLOCK


@pytest.mark.parametrize("data", [fragile.LONG_ROW, fragile.RAGGED], ids=["deadlock", "fault"])
def test_counters_of_a_broken_run_are_equal(data: dict) -> None:
    program = fragile.program()
    results = []
    for run in BACKENDS.values():
        with pytest.raises((Deadlock, StreamFault)) as found:
            run(program.graph, data, program.fabric)
        results.append(found.value.result)
    approximate, exact = results
    assert approximate.cycles == exact.cycles
    assert approximate.channels == exact.channels
    for name, each in exact.operators.items():
        other = approximate.operators[name]
        assert (each.busy, each.starved, each.blocked, each.finished) == (
            other.busy,
            other.starved,
            other.blocked,
            other.finished,
        ), name


def test_the_depths_of_the_report_do_clear_the_deadlock() -> None:
    program = fragile.program()
    depths = {"rows_broadcast.1": 9, "rows_broadcast.2": 9}
    result = approx.run(program.graph, fragile.LONG_ROW, program.fabric, depths=depths)
    assert result.status is Status.FINISHED
    for name in depths:
        with pytest.raises(Deadlock):
            approx.run(program.graph, fragile.LONG_ROW, program.fabric, depths={**depths, name: 8})


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_stops_at_its_cycle_limit(backend: str) -> None:
    program = fragile.program()
    with pytest.raises(Runaway) as found:
        BACKENDS[backend](program.graph, fragile.GOOD, program.fabric, max_cycles=10)
    assert str(found.value) == "the run did not end within 10 cycles; raise max_cycles if that is too few"
