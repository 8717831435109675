"""A program is checked, lowered and laid out once, whatever is done with it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import step
from step import INT32, FabricConfig, Graph, Program
from step.functions import Add

ONCE = {
    ("step/language/validate.py", "check"),
    ("step/lowering/links.py", "needed_ports"),  # by which a lowering ends
    ("step/lowering/netlist.py", "insert_broadcasts"),
    ("step/lowering/feasible.py", "_check_node"),
    ("step/lowering/memory.py", "memory_map"),
    ("step/lowering/memory.py", "scratchpads"),
    ("step/programs/data/inputs.py", "bind_inputs"),
}
"""What prepares a program, with its file; `_check_node` once for each unit."""
ROOT = Path(step.__file__).parents[1]


def program() -> Program:
    """Tiles that are loaded, kept in a buffer, summed up, and stored."""
    graph = Graph("once")
    tiles = graph.tensor("x", (4, 4), INT32)
    graph.load(tiles, tile=(1, 4)).bufferize(rank=1).streamify().accum(Add()).store("y")
    return Program(graph, {"x": [[1, 2, 3, 4]] * 4}, FabricConfig())


@cache
def wanted(code: CodeType) -> tuple[str, str] | None:
    """The file and the name of ``code``, if it is one of `ONCE`."""
    path, name = Path(code.co_filename), code.co_qualname
    file = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return (file, name) if (file, name) in ONCE else None


def counted(call: Callable[[], Any]) -> Counter[str]:
    """How often each of `ONCE` is called in ``call``; of checks of nodes: how often all of them are."""
    calls: Counter[tuple[str, str, str]] = Counter()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (found := wanted(frame.f_code)) is not None:
            node = frame.f_locals["node"].name if found[1] == "_check_node" else ""
            calls[*found, node] += 1

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Counter({name: max(calls[each] for each in calls if each[1] == name) for _, name, _ in calls})


CALLS: dict[str, tuple[Callable[[Program], Any], set[str]]] = {
    "interpret": (lambda made: step.run(made, "interpret"), {"_check_node", "scratchpads"}),
    "approx": (lambda made: step.run(made, "approx"), set()),
    "rtl": (lambda made: step.run(made, "rtl"), set()),
    "compare": (step.compare, set()),
    "metrics": (step.metrics, {"_check_node", "scratchpads", "bind_inputs"}),
}
"""What does something with a program, and what it does not need for that."""


@pytest.mark.parametrize("name", CALLS)
def test_a_program_is_prepared_once(name: str) -> None:
    call, needless = CALLS[name]
    made = program()
    assert counted(lambda: call(made)) == dict.fromkeys({name for _, name in ONCE} - needless, 1)
