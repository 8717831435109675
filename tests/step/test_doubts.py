"""What is doubtful in a program is said by Python, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import step
from cosim.comparing import compare as comparing
from step import INT32, UINT32, Graph, Program, Tile
from step.language.validate import check
from step.lowering.advice import advice

DATA = {"cache": [[0] * 4] * 2, "at": [1, 0], "rows": [[[1, 2]], [[3, 4]]]}


def race() -> Program:
    """A load that does not wait for the store of its tensor."""
    graph = Graph("race")
    kept, at = graph.tensor("cache", (2, 4), INT32), graph.source("at", Tile(UINT32), [2])
    graph.source("rows", Tile(INT32, 1, 2), [2]).store_random(kept, at, name="write").sink("done")
    at.load_random(kept, tile=(1, 2), name="read").sink("y")
    return Program(graph, DATA)


def compared(program: Program) -> None:
    """Without a simulator of the RTL."""
    step.compare(program)


@pytest.mark.parametrize(
    "call",
    [lambda program: step.run(program, "interpret"), lambda program: step.metrics(program), compared],
    ids=["run", "metrics", "compare"],
)
def test_a_race_is_a_warning_where_it_is_run(call: Callable[[Program], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "compared", lambda *_: None)
    program = race()
    read, write = (program.graph.nodes[name].location for name in ("read", "write"))
    with pytest.warns(step.ProgramWarning) as said:
        call(program)
    assert [str(each.message) for each in said] == [
        f"random_off_chip_load 'read' ({read}) reads tensor 'cache', which random_off_chip_store 'write' ({write}) "
        "writes, and does not wait for its acknowledgements: what it reads depends on timing"
    ]
    assert Path(said[0].filename).name == "test_doubts.py"  # where it was called, and not in the toolkit


def test_what_is_not_doubtful_says_nothing(graph: Graph) -> None:
    graph.source("x", Tile(INT32), [2]).sink("y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step.run(graph, "interpret", inputs={"x": [1, 2]}).outputs["y"].numpy().ravel().tolist() == [1, 2]


def test_arithmetic_that_nobody_reads_is_no_advice(graph: Graph) -> None:
    """`step check` says who is not read; there is no part of no cycles in which its lanes work."""
    x = graph.source("x", Tile(INT32, 1, 4), [1])
    _ = x + 1
    chain = (x * 2) * 3
    (x + 2).sink("y")
    assert advice(step.lower(graph, step.FabricConfig())) == []
    assert [each.partition("): ")[2] for each in check(graph)] == [
        "nobody reads map_0; its tokens are dropped",
        f"nobody reads {chain}; its tokens are dropped",
    ]
