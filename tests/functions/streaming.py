"""Plays datapaths that take words: elements back to back or with gaps, and looks at every word of their results."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import patterns
from amaranth.sim import Simulator

from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat
from hw.links.packing import control_bits, pack_words
from step.language.dims import dim
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans.plan import Application, Plan


@dataclass
class Event:
    """In ``cycle`` an element starts, of which ``operands`` has the words per port, or only the state is to leave."""

    cycle: int
    operands: list[list[int]] | None
    first: bool = False
    emit: bool = True


def play(path: Datapath, events: Sequence[Event], words: int) -> list[list[int]]:
    """The ``words`` of the result of every event that emits. Idle operands are all ones."""
    last = max(event.cycle for event in events) + path.latency + words
    ports = [getattr(path, name) for name in path.signature.members if name.startswith("operand")]
    now = {event.cycle: event for event in events}
    coming = [
        {event.cycle + at: word for event in events if event.operands for at, word in enumerate(event.operands[port])}
        for port in range(len(ports))
    ]
    seen: list[int] = []

    async def bench(ctx: Any) -> None:
        for cycle in range(last):
            event = now.get(cycle)
            ctx.set(path.start, event is not None and event.operands is not None)
            if hasattr(path, "first"):
                ctx.set(path.first, event is not None and event.first)
            if hasattr(path, "emit"):
                ctx.set(path.emit, event is not None and event.emit)
            for port, due in zip(ports, coming, strict=True):
                ctx.set(port, due.get(cycle, (1 << len(port)) - 1))
            if path.clocked:
                seen.append(ctx.get(path.result))
                await ctx.tick()
            else:
                await ctx.delay(1e-9)
                seen.append(ctx.get(path.result))

    simulator = Simulator(path)
    if path.clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    begins = [event.cycle + path.latency for event in events if event.emit]
    return [seen[begin : begin + words] for begin in begins]


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
        self.plan: Plan = importlib.import_module(f"step.lowering.plans.{function.family}").plan(
            function, self.application
        )
        module = importlib.import_module(f"hw.functions.{function.family}")
        self.path: Datapath = module.datapath(function, self.application, self.plan)
        self.formats = [TokenFormat.element(0, each, fabric) for each in (*inputs, self.result)]

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
        interval = self.plan.initiation_interval
        random = np.random.default_rng(seed)
        *taken, leaves = self.formats
        interval = max(interval, *(each.cycles for each in taken), leaves.cycles if scan or not self.reduce else 1)
        events: list[Event] = []
        wanted = []
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
                leaving = at + leaves.cycles
            if emits_alone:
                state = self.function.initial(self.result) if state is None else state
                events.append(Event(at, None, fresh, True))
                wanted.append(state)
                at += 1
            else:
                value = tuple(self._random(random, port) for port in range(len(self.inputs)))
                if self.reduce:
                    state = self.function.update(self.function.initial(self.result) if state is None else state, *value)
                else:
                    state = self.function.apply(*value)
                words = [_words(*each) for each in zip(value, self.inputs, taken, strict=True)]
                for each, format in zip(words, taken, strict=True):
                    each *= interval if format.control else 1  # it stays until the next one
                events.append(Event(at, words, fresh, emit))
                wanted += [state] if emit else []
                at += interval
                elements += 1
            fresh = random.random() < 0.3 if scan else emits_alone or emit
            if fresh:
                state, elements = None, 0
        assert wanted, "nothing left"
        got = play(self.path, events, leaves.cycles)
        padding = 0 if leaves.control else leaves.item_words[-1] * leaves.word_bits - leaves.items[-1]
        for number, (state, words) in enumerate(zip(wanted, got, strict=True)):
            words[-1] &= (1 << leaves.edge_bits - padding) - 1
            assert words == _words(state, self.result, leaves), (number, str(self))

    def _random(self, random: np.random.Generator, port: int) -> Any:
        element = self.inputs[port]
        if not isinstance(element, Tile):
            return int(random.integers(1 << element.bits))
        if not element.is_control:
            return patterns.tile(random, element)
        bound = self.function.bound(port, *self.inputs) if port in self.function.indices else 12
        return np.array([[random.integers(bound)]], np.uint32)


def _words(value: Any, element: ElementType, format: TokenFormat) -> list[int]:
    """What is on the wires; control is one word."""
    return [control_bits(value)] if format.control else pack_words(value, element, format)
