"""Counters of nested loops, which step as a unit fires: `step.language.loops.Walk` in hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from hw.firing.machine import Firing
from step.language.loops import Walk


@dataclass(frozen=True)
class WalkPlace:
    """Place of a walk: ``level`` of its inner loops, and all where it is ``last``, are at their last value."""

    level: Signal
    last: Value


def place_of(m: Module, firing: Firing, extents: Sequence[int], when: Value) -> WalkPlace:
    """The place of a walk, outermost loop first, which goes on with firings in which ``when``."""
    level = Signal(range(len(extents) + 1))
    last = Value.cast(1)
    for dimension, extent in enumerate(reversed(extents)):
        if extent > 1:
            index = Signal(range(extent), name=f"index{dimension}")
            with m.If(last & when):
                firing.next(index, Mux(index == extent - 1, 0, index + 1))
            last = last & (index == extent - 1)
        with m.If(last):
            m.d.comb += level.eq(dimension + 1)
    return WalkPlace(level, last)


def entry_of(m: Module, firing: Firing, walk: Walk, place: WalkPlace, when: Value, name: str) -> Signal:
    """The entry of ``walk``, which has no negative ones, at its ``place``, which goes on as that does, ``when``."""
    first, most = walk.entry(0), walk.bounds[1]
    entry = Signal(range(most + 1), name=name, init=first)
    with m.If(when), m.Switch(place.level):
        for level, step in enumerate(walk.steps):
            with m.Case(level):
                firing.next(entry, entry + step)
        with m.Default():
            firing.next(entry, first)
    return entry
