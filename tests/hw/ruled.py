"""Operators whose meaning is their rule: what it does to tokens, in any order of its firings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from step.firing.declared import Declared
from step.firing.machine import ENDS, UNLIMITED, Channel, Machine, Starved
from step.language.dims import DimKind
from step.language.graph import Node
from step.language.operator import Names, Operator, Placed, Process, StreamType, Surroundings
from step.language.stream import Stream
from step.language.types import ElementType

Types = tuple[StreamType, ...]


@dataclass(frozen=True)
class Kind:
    """A ``machine`` with parameters that follow from the types of its inputs, and the ``elements`` that it sends.

    ``rank``: so many more dimensions, which have any extents, than the first input's; None: its shape.
    """

    machine: type[Machine]
    parameters: Callable[[Types], Mapping[str, Any]] = lambda types: {}
    elements: Callable[[Types], Sequence[ElementType]] = lambda types: [types[0].element]
    latency: Callable[[Types], Any] = lambda types: 0
    passes: Sequence[Sequence[int]] = ((0,),)
    decides: Sequence[int] = ()


KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class _Ruled(Operator):
    """What the kind of this name does. No operator of the language: it is not registered."""

    name = "ruled"

    kind_name: str

    @property
    def outputs(self) -> tuple[str, ...]:
        count = len(KINDS[self.kind_name].passes)
        return ("",) if count == 1 else tuple(f"_{port}" for port in range(count))

    def infer(self, inputs: Types, names: Names) -> Types:
        elements = KINDS[self.kind_name].elements(inputs)
        return tuple(
            StreamType(
                each,
                tuple(
                    names.symbol(f"d{port}_{level}", DimKind.RAGGED if level else DimKind.DYNAMIC)
                    for level in range(inputs[0].rank + 1)
                ),
            )
            for port, each in enumerate(elements)
        )

    def process(self, node: Placed, around: Surroundings) -> Process:
        kind, types, sent = KINDS[self.kind_name], node.input_types, list[Any]()
        inputs, outputs = ([Channel(UNLIMITED) for _ in each] for each in (types, node.output_types))
        for each in (*inputs, *outputs):
            each.freed, each.entering = [], sent
        machine = kind.machine(inputs=tuple(inputs), outputs=tuple(outputs), **kind.parameters(types))
        while True:
            try:
                outcome = machine.fire()
            except Starved as missing:
                (channel,) = missing.args
                channel.tokens.append((yield inputs.index(channel)))
                continue
            for channel, token in sent:
                around.emit(outputs.index(channel), token)
            sent.clear()
            if outcome == ENDS:
                return

    def decides_on(self, inputs: int) -> Sequence[int]:
        return KINDS[self.kind_name].decides

    def passes_on(self, inputs: int, output: int) -> Sequence[int]:
        return KINDS[self.kind_name].passes[output]


def ruled(kind: str, *streams: Stream, name: str | None = None) -> list[Stream]:
    """What the rule of ``kind`` makes of ``streams``."""
    return list(streams[0].graph.add(_Ruled(kind), list(streams), name=name))


def rule(node: Node) -> Declared:
    """What ``node`` fires by."""
    operator = node.operator
    assert isinstance(operator, _Ruled)
    kind = KINDS[operator.kind_name]
    return Declared(kind.machine, kind.parameters(node.input_types), kind.latency(node.input_types))


module = sys.modules["step.rules.ruled"] = ModuleType("step.rules.ruled")
module.rule = rule  # type: ignore[attr-defined]
