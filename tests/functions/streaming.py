"""Datapaths of any function: elements back to back or with gaps, and every word of their results."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import patterns
from scripted import Script, of_link

from hw.functions.datapath import HARDWARE, Datapath
from step.language.dims import dim
from step.language.function import Function
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application, Plan

WHOLE = 4096
"""Bytes of a link on which all elements of these tests are one word."""


def made(function: Function, application: Application) -> tuple[Any, Any]:
    """The plan of ``function``, and the hardware that is made as it says."""
    plan = importlib.import_module(f"step.lowering.plans.{function.family}").plan(function, application)
    importlib.import_module(f"hw.functions.{function.family}")
    return plan, HARDWARE[type(function)](plan)


class Case:
    """A function with types on a fabric, its datapath, and random elements with what should become of them.

    ``tiles``: elements that a reduction must have, for functions of which the result depends on that.
    """

    def __init__(
        self,
        function: Any,
        inputs: tuple[ElementType, ...],
        fabric: FabricConfig,
        *,
        reduce: bool = False,
        tiles: int | None = None,
    ) -> None:
        self.function, self.inputs, self.reduce, self.tiles = function, inputs, reduce, tiles
        self.result = function.state_type((dim(tiles or 3),), *inputs) if reduce else function.result_type(*inputs)
        self.application = Application(inputs, self.result, fabric, reduce)
        self.plan: Plan
        self.path: Datapath
        self.plan, self.path = made(function, self.application)
        self.link_bytes = fabric.link_bytes if self.plan.streams else WHOLE

    def __str__(self) -> str:
        fabric = self.application.fabric
        return f"{self.function} of {self.inputs} on {fabric}"

    def formula(self) -> tuple[int, int, bool]:
        """Initiation interval, latency, and whether words are taken as they come, as the plan has them."""
        return self.plan.initiation_interval, self.plan.latency, self.plan.streams

    def check(self, count: int, gaps: Sequence[int], seed: int = 8, *, scan: bool = False) -> None:
        """Play ``count`` events that come as early as a unit lets them, and later by ``gaps`` in turn.

        ``scan``: the state of a reduction leaves behind every element, and mostly the reduction goes on.
        """
        random, script = np.random.default_rng(seed), Script(self.path)
        *taken, leaves = (of_link(each, self.link_bytes).cycles for each in (*self.inputs, self.result))
        interval = max(self.plan.initiation_interval, *taken, leaves if scan or not self.reduce else 1)
        at, leaving, fresh, elements, state = 0, 0, True, 0, None
        for number in range(count):
            at += gaps[number % len(gaps)]
            if scan:
                emits_alone, emit = False, True
            elif self.tiles is None:
                emits_alone, emit = self.reduce and random.random() < 0.3, not self.reduce or random.random() < 0.5
            else:
                emits_alone, emit = elements == self.tiles, elements + 1 == self.tiles and random.random() < 0.5
            if emits_alone or emit:
                at = max(at, leaving)
                leaving = at + leaves
            if self.reduce and state is None:
                state = self.function.initial(self.result)
            begins = at
            script.give(at, start=not emits_alone, first=fresh, emit=emits_alone or emit)
            if emits_alone:
                at += 1
            else:
                value = tuple(self.draw(random, port) for port in range(len(self.inputs)))
                state = self.function.update(state, *value) if self.reduce else self.function.apply(*value)
                for port, (each, element) in enumerate(zip(value, self.inputs, strict=True)):
                    script.operand(port, at, each, element, self.link_bytes, interval)  # control, until the next one
                at += interval
                elements += 1
            if emits_alone or emit:
                script.result(begins, state, self.result, self.link_bytes)
            fresh = random.random() < 0.3 if scan else emits_alone or emit
            if fresh:
                state, elements = None, 0
        assert script.wrong() == [], str(self)

    def draw(self, random: np.random.Generator, port: int) -> Any:
        """A random operand."""
        element = self.inputs[port]
        if not isinstance(element, Tile):
            return int(random.integers(1 << element.bits))
        if not element.is_control:
            return patterns.tile(random, element)
        bound = self.function.bound(port, *self.inputs) if port in self.function.indices else 12
        return np.array([[random.integers(bound)]], np.uint32)
