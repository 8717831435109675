"""Threefry of a word of key and one of counter, pipelined."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import C, Module, Signal, Value

from hw.arithmetic.staged import Staged
from step.functions.threefry import BETWEEN, PARITY, ROTATIONS, ROUNDS


class Threefry(Staged):
    """``result`` = the first word, as `step.functions.threefry.threefry` does it; a step is a round."""

    cuts = tuple(tuple(range(each, ROUNDS, each)) for each in (4, 2, 1))
    inputs: ClassVar[dict[str, int]] = {"first": 32, "second": 32}

    def compute(self, m: Module) -> Value:
        x = self.behind(m, 0, x=(self.second + self.first)[:32], y=C(0, 32), key=self.first)
        for number in range(1, ROUNDS + 1):
            keys = x.key, C(0, 32), x.key ^ PARITY
            first, turned = Signal(32, name=f"first_{number}"), x.y.rotate_left(ROTATIONS[(number - 1) % 8])
            m.d.comb += first.eq(x.x + x.y)
            second: Value = turned ^ first
            if number % BETWEEN == 0:
                at = number // BETWEEN
                first, second = first + keys[at % 3], second + keys[(at + 1) % 3] + at
            x = self.behind(m, number, x=first[:32], y=second[:32], key=x.key)
        return x.x
