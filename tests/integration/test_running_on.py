"""A run goes on until nothing moves: what happens beside and behind its end is seen, and does not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from everywhere import TIMED, failed, faults, same
from scenarios import FABRIC

import step
from cosim.comparing.compare import compare
from step.errors import InputError, StreamFault
from step.functions import Add, Matmul
from step.language.dtypes import BF16, FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program
from step.running.result import Status

pytestmark = pytest.mark.large

LONG = list(range(20))
GOOD = {"x": [1, 2], "left": [LONG, [1]], "right": [LONG, [1]], "a": [[1, 2]], "b": [[1, 2]], "rows": [[1], [2]]}
BEHIND = {**GOOD, "right": [LONG[1:], [1]]}
BOTH = {**BEHIND, "b": [[1, 2, 3]]}
STUCK = {**GOOD, "rows": [LONG, [2]]}

SLOW = (
    "zip 'slow' (test_running_on.py:LINE): its inputs do not have the same shape\n"
    "  token 18 of left is a value\n"
    "  token 18 of right is a value with S1"
)


def program(inputs: dict[str, Any]) -> Program:
    """Two streams that are read to their end soon, and two branches that nobody reads."""
    graph = Graph("running_on")
    length = graph.symbol("L", ragged=True)
    left, right = (graph.source(name, Tile(FP32), [2, length]) for name in ("left", "right"))
    left.zip(right, name="slow")
    a, b = (graph.source(name, Tile(FP32), [1, graph.symbol(f"{name}_length", ragged=True)]) for name in "ab")
    a.assume_shape(b.shape).zip(b, name="quick").sink("pairs")
    rows = graph.source("rows", Tile(FP32), [2, graph.symbol("R", ragged=True)])
    rows.accum(Add()).reshape(1)[0].expand(rows)
    graph.source("x", Tile(FP32), [2]).sink("y")
    return Program(graph, inputs, FABRIC)


@pytest.mark.parametrize("inputs", [GOOD, STUCK], ids=["good", "stuck"])
def test_what_nobody_reads_does_not_count(inputs: dict[str, Any]) -> None:
    """The run ends with its sinks, long before `slow` does; that `rows` is stuck then is no deadlock."""
    given = program(inputs)
    exact, model = (run(given.graph, inputs, FABRIC, events=True) for run in TIMED.values())
    same(exact, model)
    assert (exact.status, exact.cycles) == (Status.FINISHED, 7)
    assert compare(given, optimize=False).passed


@pytest.mark.filterwarnings("ignore:.*nobody reads:step.ProgramWarning")
def test_what_leaves_is_told_token_by_token() -> None:
    """In the order of each sink, as it stands in the outputs; tokens of `pairs` end rows."""
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "interpret": ("interpret", {}),
        "rtl": ("rtl", {"optimize": False}),
        "compiled": ("approx", {"values": "all", "engine": "compiled"}),
        "python": ("approx", {"values": "all", "engine": "python"}),
    }
    for name, (backend, options) in ways.items():
        told: dict[str, list[str]] = {"y": [], "pairs": []}
        run = step.run(
            program(GOOD), backend, on_token=lambda sink, token, told=told: told[sink].append(str(token)), **options
        )
        assert told == {sink: [str(token) for token in run.result.outputs[sink]] for sink in told}, name
        assert [len(each) for each in told.values()] == [2, 2], name
    with pytest.raises(InputError) as found:
        step.run(program(GOOD), "approx", on_token=print)
    assert str(found.value) == (
        'the fast model computes what leaves through sinks with values="all"; on_token needs that'
    )


@pytest.mark.parametrize(("inputs", "cycles"), [(BEHIND, 19), (BOTH, 3)], ids=["behind the end", "several"])
def test_a_fault_is_the_same_everywhere(inputs: dict[str, Any], cycles: int) -> None:
    """Of several faults the first in the program is told, and the first in time ends the run."""
    exact, model = faults(program(inputs).graph, inputs, FABRIC, SLOW, events=True)
    same(exact, model)
    assert exact.cycles == cycles


@pytest.mark.parametrize("backend", TIMED)
def test_the_cycle_limit_holds_behind_the_end_too(backend: str) -> None:
    """What was not simulated was not seen: the run has finished."""
    given = program(BEHIND)
    for limit in (7, 19):
        result = TIMED[backend](given.graph, BEHIND, FABRIC, max_cycles=limit)
        assert (result.status, result.cycles) == (Status.FINISHED, 7)
    failed(StreamFault, TIMED[backend], given.graph, BEHIND, FABRIC, max_cycles=20)


def test_the_slowest_parts_are_waited_for(graph: Graph) -> None:
    """A multiplication of hundreds of cycles, and a memory channel that is free every hundred: no deadlock."""
    x = graph.load(graph.tensor("x", (16, 8), BF16), tile=(8, 8))
    x.map(Matmul(), graph.load(graph.tensor("w", (16, 8), BF16), tile=(8, 8))).store("y")
    memory = MemoryConfig(beat_bytes=16, channels=1, interval=100, latency=3)
    fabric = FabricConfig(matmul_lanes=1, vector_lanes=1, outstanding=1, memory=memory)
    random = np.random.default_rng(1)
    found = compare(Program(graph, {name: random.random((16, 8)) for name in "xw"}, fabric), optimize=False)
    assert found.passed
    assert found.exact_cycles > 3000
