"""Counters of nested loops, which step as a unit fires: `step.language.loops.Walk` in hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value

from hw.firing.machine import Firing


@dataclass(frozen=True)
class WalkPlace:
    """Place of a walk: ``level`` of its inner loops, and all where it is ``last``, are at their last value.

    ``steps``: by level, what the index grows by to the next entry.
    """

    level: Signal
    last: Value
    steps: tuple[int, ...]


def walk(
    m: Module, firing: Firing, extents: Sequence[int], strides: Sequence[int], when: Value | None = None
) -> WalkPlace:
    """The place of a walk, outermost loop first, which goes on with every firing, or with those in which ``when``."""
    level = Signal(range(len(extents) + 1))
    steps, back, last = [], 0, Value.cast(1)
    for dimension, (extent, stride) in enumerate(zip(reversed(extents), reversed(strides), strict=True)):
        steps.append(stride - back)
        back += (extent - 1) * stride
        if extent > 1:
            index = Signal(range(extent), name=f"index{dimension}")
            with m.If(last if when is None else last & when):
                firing.next(index, Mux(index == extent - 1, 0, index + 1))
            last = last & (index == extent - 1)
        with m.If(last):
            m.d.comb += level.eq(dimension + 1)
    return WalkPlace(level, last, tuple(steps))
