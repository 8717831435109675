"""Runs on all back ends, which must end alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from cosim import backend as rtl
from sim_approx import backend as approx
from step.errors import SimulationError, StreamFault
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.running.interpreter import interpret
from step.running.result import ChannelEvents, OperatorResult, RunResult, Status

TIMED: dict[str, Callable[..., RunResult]] = {"approx": approx.run, "rtl": partial(rtl.run, optimize=False)}


def text(error: Exception | str) -> str:
    """The message, with paths cut to the name of the file, and LINE for the line."""
    return re.sub(r"\([^ (]*?(\w+\.py):\d+\)", r"(\1:LINE)", str(error))


def failed(
    error: type[SimulationError], run: Callable[..., Any], *given: Any, wanted: str | None = None, **options: Any
) -> Any:
    """The result of a run that ends with an ``error``, whose `text` is ``wanted``."""
    with pytest.raises(error) as found:
        run(*given, **options)
    assert wanted is None or text(found.value) == wanted
    return found.value.result


def faults(
    graph: Graph, inputs: Mapping[str, Any], fabric: FabricConfig, wanted: str, *, untimed: bool = True, **options: Any
) -> list[RunResult]:
    """Results of the timed back ends, which end with the fault ``wanted``, as the interpreter does if ``untimed``."""
    if untimed:
        failed(StreamFault, interpret, graph, inputs, wanted=wanted)
    results = [failed(StreamFault, run, graph, inputs, fabric, wanted=wanted, **options) for run in TIMED.values()]
    assert all(each is not None and each.status is Status.FAULT for each in results)
    return results


def spent(operator: OperatorResult) -> tuple[int, ...]:
    """Cycles of an operator by activity."""
    return operator.busy, operator.starved, operator.blocked, operator.finished


def same(one: RunResult, other: RunResult) -> None:
    """All that is counted is equal."""
    assert (one.status, one.cycles, one.channels) == (other.status, other.cycles, other.channels)
    for name, each in one.operators.items():
        assert spent(each) == spent(other.operators[name]), name
    if one.events is not None:
        same_events(one.events, other.events)


def same_events(one: Mapping[str, ChannelEvents], other: Mapping[str, ChannelEvents] | None) -> None:
    """Every token is there in the same cycle."""
    assert other is not None
    for name, each in one.items():
        for part in ("cycles", "control", "leaves"):
            assert np.array_equal(getattr(each, part), getattr(other[name], part)), (name, part)
