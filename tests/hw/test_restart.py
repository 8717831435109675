"""A fabric that is done, or stopped amid a run, is as new after a cycle of reset, whatever memory is at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from restarting import Board, plain
from scenarios import SCENARIOS, Scenario
from scenarios.random_memory import ADDRESS, behind

from step.language.dtypes import BF16, INT32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs

FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))

LONG = ("streamify-two-rates", "streamify-together-4", "random_off_chip_store-moved", "eager_merge-uneven")
PLAYED = {each.operator: each for each in SCENARIOS if each.name not in LONG}
"""One of each operator."""


def board(scenario: Scenario, latency: int, *, eager: bool = True, hop: int = 0) -> Board:
    graph = Graph("again")
    inputs = bind_inputs(graph, scenario.build(graph))
    return Board(lower(graph, replace(FABRIC, hop=hop)), inputs, latency, eager=eager)


def check_restarts(board: Board, stops: Iterable[int]) -> int:
    """Whole runs, each behind one that was stopped after so many cycles, are like the first; returns its cycles.

    What a run that is stopped reads is wrong. Every third one is reset for several cycles, and once more soon after.
    """
    memory, lengths = board.memory, []

    async def whole(context: Any) -> tuple[Any, list[int]]:
        memory.image[:] = board.beats
        begun = memory.cycle
        seen = await board.run(context)
        lengths.append(memory.cycle - begun)
        return seen, list(memory.image)

    async def bench(context: Any) -> None:
        first = await whole(context)
        await board.restart(context)
        assert await whole(context) == first
        for stop in stops:
            await board.restart(context)
            memory.damaged = True
            await board.run(context, stop)
            await board.restart(context, 1 + 2 * (stop % 3 == 0))
            if stop % 3 == 0:
                await board.run(context, stop % 7)
                await board.restart(context)
            memory.damaged = False
            seen, image = await whole(context)
            assert (plain(seen), image) == (plain(first[0]), first[1]), f"stopped after {stop} cycles"

    board.play(bench)
    return lengths[0]


@pytest.mark.parametrize("hop", [0, 1])
@pytest.mark.parametrize("operator", PLAYED)
def test_the_second_run_is_like_the_first(operator: str, hop: int) -> None:
    """Stopped once, each operator in another cycle."""
    check_restarts(board(PLAYED[operator], 20, hop=hop), [7 + [*PLAYED].index(operator)])


@pytest.mark.slow
@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("operator", PLAYED)
def test_a_run_may_be_stopped_in_any_cycle(operator: str, eager: bool) -> None:
    length = check_restarts(board(PLAYED[operator], 20, eager=eager), [])
    check_restarts(board(PLAYED[operator], 20, eager=eager), range(length + 3))


def moved(graph: Graph) -> dict[str, Any]:
    """Loads and stores of both kinds, of one beat and of several, and a load of what was stored."""
    random = np.random.default_rng(0)
    x = graph.load(graph.tensor("x", (12, 16), BF16), tile=(1, 16), name="rows")
    x.store("y")
    x.sink("x_again")
    which = graph.source("which", ADDRESS, [9])
    which.load_random(graph.tensor("a", (8, 4), BF16), tile=(1, 4), name="picked").sink("z")
    cache, where = graph.tensor("cache", (4, 8), INT32), graph.source("where", ADDRESS, [5])
    stored = graph.source("data", Tile(INT32, 2, 2), [5]).store_random(cache, where, name="keep")
    behind(where, stored).load_random(cache, tile=(2, 2), name="kept").sink("kept_again")
    return {
        "x": random.random((12, 16)),
        "a": random.random((8, 4)),
        "cache": random.integers(0, 1000, (4, 8)),
        "which": [5, 0, 7, 7, 1, 2, 6, 3, 4],
        "where": [3, 1, 7, 0, 6],
        "data": random.integers(0, 1000, (5, 2, 2)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("hop", [0, 1])
@pytest.mark.parametrize("latency", [1, 2, 7, 24, 113])
def test_a_reset_in_front_of_any_latency(latency: int, hop: int) -> None:
    """In cycles from all over a run."""
    made = board(Scenario("moved", "", moved), latency, hop=hop)
    length = check_restarts(made, [])
    check_restarts(made, range(0, length + 3, length // 30))


def test_a_datapath_that_begins_in_the_cycle_of_the_reset_does_not_go_on() -> None:
    """The pulse that starts it is one cycle behind the firing."""
    accum = next(each for each in SCENARIOS if each.name == "generate-unread")
    check_restarts(board(accum, 1), [4, 10, 16])


@pytest.mark.parametrize("hop", [0, 1])
@pytest.mark.parametrize("operator", [each for each in PLAYED if "off_chip" in each])
def test_memory_may_be_reset_with_the_fabric(operator: str, hop: int) -> None:
    """Then nothing comes of what it was asked for, and nobody waits for it."""
    played = board(PLAYED[operator], 20, hop=hop)

    async def bench(context: Any) -> None:
        first = await played.run(context)
        for stop in (5, 26, 40):
            await played.restart(context, forget=True)
            played.memory.image[:] = played.beats
            await played.run(context, stop)
            await played.restart(context, forget=True)
            played.memory.image[:] = played.beats
            assert await played.run(context) == first

    played.play(bench)
