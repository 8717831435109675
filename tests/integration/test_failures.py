"""What goes wrong at run time, told in the same words by every back end."""

from __future__ import annotations

import re

import fragile
import pytest
from everywhere import TIMED, faults, same
from raising import raising

from sim_approx import backend as approx
from step.errors import Deadlock, Runaway
from step.running.interpreter import interpret
from step.running.result import Status


def test_good_data_runs_everywhere() -> None:
    program = fragile.program()
    meaning = interpret(program.graph, fragile.GOOD).outputs
    values = [float(token.value[0, 0]) for token in meaning["scaled_rows"]]
    assert values == fragile.expected(fragile.GOOD["rows"])
    exact, model = (run(program.graph, fragile.GOOD, program.fabric) for run in TIMED.values())
    assert exact.status is Status.FINISHED
    assert exact.cycles == model.cycles


def test_stops_that_disagree_are_the_same_error_in_all_back_ends() -> None:
    program = fragile.program()
    wanted = (
        "map 'product' (fragile.py:LINE): its inputs do not have the same shape\n"
        "  token 0 of left is a value\n"
        "  token 0 of right is a value with S1"
    )
    same(*faults(program.graph, fragile.RAGGED, program.fabric, wanted))


DEADLOCK = """\
deadlock: from cycle 16 on nothing can move, and 7 of 11 operators are not finished
the smallest depths that clear it:
  rows_broadcast.1: 9 instead of 2 (input 1 of expand 'spread' (fragile.py:29): rows.buffered(9), from fragile.py:28)
  rows_broadcast.2: 9 instead of 2 (input 0 of map 'scaled' (fragile.py:30): rows.buffered(9), from fragile.py:28)
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


def test_a_deadlock_is_reported_with_the_depths_that_clear_it() -> None:
    program = fragile.program()
    interpret(program.graph, fragile.LONG_ROW)  # without bounds on channels there is no deadlock
    results = []
    for run in TIMED.values():
        with pytest.raises(Deadlock) as found:
            run(program.graph, fragile.LONG_ROW, program.fabric)
        assert re.sub(r"[^ (]*fragile\.py", "fragile.py", str(found.value)) == DEADLOCK
        assert found.value.result is not None and found.value.result.status is Status.DEADLOCK
        results.append(found.value.result)
    same(*results)


def test_the_depths_of_the_report_do_clear_the_deadlock() -> None:
    program = fragile.program()
    depths = {"rows_broadcast.1": 9, "rows_broadcast.2": 9}
    result = approx.run(program.graph, fragile.LONG_ROW, program.fabric, depths=depths)
    assert result.status is Status.FINISHED
    for name in depths:
        with pytest.raises(Deadlock):
            approx.run(program.graph, fragile.LONG_ROW, program.fabric, depths={**depths, name: 8})


@pytest.mark.parametrize("backend", TIMED)
def test_a_run_stops_at_its_cycle_limit(backend: str) -> None:
    program = fragile.program()
    with raising(Runaway, "the run did not end within 10 cycles; raise max_cycles if that is too few"):
        TIMED[backend](program.graph, fragile.GOOD, program.fabric, max_cycles=10)
