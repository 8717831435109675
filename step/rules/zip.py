"""Zip: aligned streams side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from step.firing.declared import Declared
from step.firing.item import SideBySide
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import need_all, put, room, side_by_side, take, values
from step.language.faults import aligned, same_rows
from step.language.graph import Node
from step.language.tokens import Token
from step.language.types import is_dynamic


@dataclass(slots=True, eq=False, kw_only=True)
class Zip(Machine):
    """The items of a tuple leave one after the other; those of the inputs ``tiled`` are of dynamic size."""

    pair: Callable[..., Any]
    tiled: tuple[int, ...]

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        same_rows(tokens, self.tiled)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.has_value:
            put(self.outputs[0], Token(self.pair(*values(tokens)), x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def rule(node: Node) -> Declared:
    """The firing rule of ``node``."""
    tiled = tuple(port for port, each in enumerate(node.input_types) if is_dynamic(each.element))
    return Declared(Zip, {"pair": SideBySide(tiled[0]) if tiled else side_by_side, "tiled": tiled})
