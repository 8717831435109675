"""What the top says of the whole program."""

from __future__ import annotations

from typing import Any

import pytest
from assembly import Assembly
from cases import cases
from driving import drive

from hw.fabric import elaborate
from hw.firing.status import ProgramStatus
from hw.verilog.convert import ModuleLibrary
from step.language.dtypes import FP32
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower

FABRIC = FabricConfig()


def seen(status: ProgramStatus, faults: dict[int, int], finished: set[int]) -> tuple[int, int, int]:
    """``done``, ``fault`` and ``fault_unit``, five cycles after these units met these faults."""
    found: list[int] = []

    async def bench(context: Any) -> None:
        for unit, code in faults.items():
            context.set(getattr(status, f"fault{unit}"), code)
        for ender in finished:
            context.set(getattr(status, f"finished{ender}"), 1)
        await context.tick().repeat(5)
        found.extend(context.get(each) for each in (status.done, status.fault, status.fault_unit))

    drive(status, bench)
    done, fault, unit = found
    return done, fault, unit


@cases(
    ({}, set(), (0, 0, 0)), ({}, {0}, (0, 0, 0)), ({}, {0, 1}, (1, 0, 0)), ({4: 3}, {0}, (0, 3, 4)),
    ({4: 3, 2: 5, 3: 15}, set(), (0, 5, 2)), ({0: 1, 4: 2}, {0, 1}, (1, 1, 0)),
)  # fmt: skip
def test_the_first_fault_in_the_order_of_the_program(faults: Any, finished: Any, expected: Any) -> None:
    assert seen(ProgramStatus(5, 2), faults, finished) == expected
    assert seen(ProgramStatus(5, 2, far=True), faults, finished) == expected


def test_many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 700 is in Verilog, in groups of as many as are not too deep for Python; three at a time mean the same."""
    library = ModuleLibrary()
    name = library.require(ProgramStatus(700, 1))
    assert library.texts()[name].text.count("10'h2bb") == 1
    monkeypatch.setattr("hw.firing.status.DEEPEST", 3)
    assert seen(ProgramStatus(11, 1), {10: 4, 7: 5}, {0}) == (1, 5, 7)
    assert seen(ProgramStatus(11, 1), {10: 4}, set()) == (0, 4, 10)


def test_a_program_without_units_is_done() -> None:
    assert seen(ProgramStatus(0, 0), {}, set()) == (1, 0, 0)


def run(graph: Graph, words: dict[str, list[int]], cycles: int = 30) -> list[tuple[int, ...]]:
    """The status in each cycle of a fabric whose sources are fed the headers in ``words``."""
    assembly = Assembly(elaborate(lower(graph, FABRIC)).structure)
    states: list[tuple[int, ...]] = []

    async def bench(context: Any) -> None:
        waiting = {name: list(each) for name, each in words.items()}
        context.set(assembly.y_tready, 1)
        for _ in range(cycles):
            for name, left in waiting.items():
                context.set(getattr(assembly, f"{name}_tvalid"), bool(left))
                context.set(getattr(assembly, f"{name}_tlast"), 1)
                context.set(getattr(assembly, f"{name}_tuser"), left[0] if left else 0)
                if left and context.get(getattr(assembly, f"{name}_tready")):
                    left.pop(0)
            states.append(tuple(context.get(getattr(assembly, port)) for port in ("done", "fault", "fault_unit")))
            await context.tick()

    drive(assembly, bench)
    return states


def zipped() -> Graph:
    graph = Graph("ending")
    left, right = (graph.source(name, Tile(FP32), [1, 1]) for name in ("a", "b"))
    left.zip(right, name="both").sink("y")
    return graph


VALUE, STOPPED, END = 0b010, 0b110, 1  # from the lowest bit: done, value, stop


def test_a_fabric_says_when_it_is_done() -> None:
    states = run(zipped(), {"a": [STOPPED, END], "b": [STOPPED, END]})
    assert states[0] == (0, 0, 0) and states[-1] == (1, 0, 0)


def test_a_fabric_says_who_met_a_fault() -> None:
    done, fault, unit = run(zipped(), {"a": [STOPPED, END], "b": [VALUE, STOPPED, END]})[-1]
    names = [each.name for each in lower(zipped(), FABRIC).units]
    assert (done, Fault(fault), names[unit]) == (0, Fault.STOPS_DISAGREE, "both")
