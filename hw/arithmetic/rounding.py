"""FP32 numbers without their fraction."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.arithmetic.staged import Staged
from step.functions.rounding import Direction

ONE = 127 << 23


class Round(Staged):
    """``result`` = ``value`` rounded in a ``direction``, as `step.functions.rounding.Round` says."""

    cuts = (), (1,)

    def __init__(self, stages: int, direction: Direction) -> None:
        self.direction: Direction = direction
        super().__init__(stages)
        self.parameters = {**self.parameters, "direction": self.direction}

    def compute(self, m: Module) -> Value:
        magnitude, exponent, sign = self.value[:31], self.value[23:31], self.value[31]
        mask = Signal(23)  # the bits of the fraction
        unit = Signal(24)  # the bit that weighs 1
        m.d.comb += [mask.eq(C((1 << 23) - 1, 23) >> (exponent - 127)[:5]), unit.eq(mask + 1)]
        # By how much more the magnitude is before the mask cuts it off, and whether what is below 1 becomes 1.
        if self.direction == "nearest":
            more = (mask >> 1) + (magnitude[:24] & unit).any()
            away = (exponent == 126) & magnitude[:23].any()
        else:
            up = {"floor": sign, "ceil": ~sign, "trunc": C(0, 1)}[self.direction]
            more, away = mask & up.replicate(23), up & exponent.any()
        kept = {"magnitude": magnitude, "sign": sign, "mask": mask, "more": more, "small": Mux(away, ONE, 0)}
        kept |= {"is_small": exponent < 127, "whole": exponent >= 127 + 23}
        x = self.behind(m, 1, **kept, nan=exponent.all() & magnitude[:23].any())
        total = (x.magnitude + x.more)[:31] & ~Cat(x.mask, C(0, 8))
        result = Mux(x.whole, x.magnitude, Mux(x.is_small, x.small, total))
        return Mux(x.nan, C(0x7FC00000, 32), Cat(result[:31], x.sign))
