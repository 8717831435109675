"""Zip: aligned streams side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim_approx.machine import COMPUTES, ENDS, Machine, need_all, put, room, take, unknown, values
from sim_approx.site import Site
from step.language.faults import aligned
from step.language.tokens import Token


@dataclass(slots=True, eq=False, kw_only=True)
class Zip(Machine):
    """The items of a tuple leave one after the other."""

    pair: Callable[..., Any]

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        room(self.outputs[0])
        for each in self.inputs:
            take(each)
        if x.has_value:
            put(self.outputs[0], Token(self.pair(*values(tokens)), x.stop))
            return COMPUTES
        put(self.outputs[0], x)
        return ENDS if x.done else None


def pair(*items: Any) -> tuple[Any, ...]:
    """The items side by side."""
    return items


def build(site: Site) -> Machine:
    return site.add(Zip(**site.ports(), interval=site.beats, pair=pair if site.computes else unknown))
