"""Orders of arrival of a Reassemble that is still at work when the program's sinks have ended."""

from __future__ import annotations

import pytest
from everywhere import TIMED
from scenarios import FABRIC

from cosim.comparing.compare import compare
from step.language.dtypes import INT32
from step.language.graph import Graph
from step.language.types import Tile
from step.programs.program import Program
from step.running.interpreter import interpret

ROWS = 12


def gathering() -> Program:
    """Pairs, of which the second one is always there first; a short stream is all that is read."""
    graph = Graph("gathering")
    first, second = (graph.source(name, Tile(INT32), [ROWS]) for name in ("first", "second"))
    far = first.promote().flatten(0, 1)
    both = graph.selectors("both", 2, [ROWS])
    graph.reassemble([far, second], both, name="gather").flatten(0, 1, name="gathered")
    graph.source("x", Tile(INT32), [1]).sink("y")
    inputs = {
        "first": list(range(ROWS)),
        "second": list(range(100, 100 + ROWS)),
        "both": [[True, True]] * ROWS,
        "x": [7],
    }
    return Program(graph, inputs, FABRIC)


def gathered(arrivals: dict[str, list[int]]) -> list[int]:
    """What the interpreter gathers in this order."""
    program = gathering()
    found = interpret(program.graph, program.inputs, record=True, arrivals=arrivals)
    return [int(token.value[0, 0]) for token in found.streams["gathered"] if token.has_value]


@pytest.mark.parametrize("backend", TIMED)
def test_the_record_is_complete_although_the_run_ends_before(backend: str) -> None:
    program = gathering()
    result = TIMED[backend](program.graph, program.inputs, program.fabric)
    assert result.cycles == 3
    assert result.arrivals == {"gather": [1, 0] * ROWS}
    assert gathered(result.arrivals) == [each for row in range(ROWS) for each in (100 + row, row)]


@pytest.mark.parametrize("backend", TIMED)
def test_a_record_that_was_cut_short_goes_on_in_the_order_of_the_inputs(backend: str) -> None:
    program = gathering()
    result = TIMED[backend](program.graph, program.inputs, program.fabric, max_cycles=6)
    order = result.arrivals["gather"]
    assert 0 < len(order) < 2 * ROWS and order == ([1, 0] * ROWS)[: len(order)]
    begun = -(-len(order) // 2)
    wanted = [each for row in range(begun) for each in (100 + row, row)]
    assert gathered(result.arrivals) == wanted + [each for row in range(begun, ROWS) for each in (row, 100 + row)]


def test_compare() -> None:
    assert compare(gathering(), optimize=False).passed
