"""Back ends by name, and the untimed one.

A back end is an entry point in the group ``step.backends``: a function ``run(graph, inputs, fabric, **options)`` that
returns a `RunResult`. The timed ones take ``events`` and ``max_cycles``, and ``rtl`` also ``waves`` and ``progress``.
A run that fails is a `SimulationError` with the result up to there as its ``result``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from step.errors import UnknownName
from step.host.floors import floor_names, from_floor
from step.host.names import unknown
from step.language.graph import Graph
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.limits import check_depths
from step.running.interpreter import interpret
from step.running.result import RunResult, Status

GROUP = "step.backends"
Backend = Callable[..., RunResult]


def backend(name: str) -> Backend:
    """The back end called ``name``; raises `InputError` for other names, and `EnvironmentProblem` where what it needs
    is not installed."""
    known = floor_names(GROUP)
    if name not in known:
        raise UnknownName(unknown("back end", name, known))
    return from_floor(GROUP, name, f"the back end {name}")


def run(graph: Graph, inputs: Mapping[str, Any], fabric: FabricConfig) -> RunResult:
    """Interpret ``graph``: outputs without time, so no cycles and no activities.

    The fabric has no say in it, but what no fabric can be is refused as by the other back ends.
    """
    check_outputs(graph)
    check_depths(graph, fabric)
    started = time.perf_counter()
    found = interpret(graph, inputs)
    seconds = time.perf_counter() - started
    return RunResult("interpret", graph.name, Status.FINISHED, 0, found.outputs, {}, {}, seconds)
