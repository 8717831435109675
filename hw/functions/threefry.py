"""Datapath of random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Value

from hw.arithmetic.staged import placed
from hw.arithmetic.threefry import Threefry as ThreefryUnit
from hw.functions.vector import Lane
from step.functions.threefry import Threefry


class ThreefryLane(Lane, of=Threefry):
    """All rounds, one behind the other."""

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        return placed(m, name, ThreefryUnit(self.stages), *operands)
