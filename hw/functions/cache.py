"""Hardware of functions that make addresses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.wires import Generator, WiresDatapath
from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles


def _below(value: Value, bound: int) -> Value:
    """The bits of a ``value`` below ``bound`` that say something, so that a product with it is small."""
    return value[: (bound - 1).bit_length()] if bound > 1 else C(0, 1)


class ExpertTilesGenerator(Generator, of=ExpertTiles):
    """The tiles of expert ``operand0``: a number, or a selector that chooses it."""

    def outputs(self, m: Module) -> dict[str, Any]:
        experts, tiles, expert = self.function.experts, self.function.tiles, self.operand0
        invalid = expert >= experts
        if self.chooses:
            bits = max(1, (experts - 1).bit_length())
            expert = Cat(Cat(self.operand0[at] for at in range(experts) if at >> bit & 1).any() for bit in range(bits))
            invalid = (self.operand0 == 0) | (self.operand0 & (self.operand0 - 1)).any()
        return {
            "invalid": invalid,
            "none": 0,
            "last": self.index == tiles - 1,
            "result": self.function.base + _below(expert, experts) * tiles + self.index,
        }


class CacheTilesGenerator(Generator, of=CacheTiles):
    """The tiles of request ``operand0``, which has ``operand1`` rows."""

    counts = True

    def outputs(self, m: Module) -> dict[str, Any]:
        shape = self.function
        request, index = _below(self.operand0, shape.requests), _below(self.index, shape.tiles)
        length, reached = (_below(each, shape.tiles * shape.rows + 1) for each in (self.operand1, self.reached))
        return {
            "invalid": (self.operand0 >= shape.requests) | (self.operand1 > shape.tiles * shape.rows),
            "none": self.operand1 == 0,
            "last": length <= reached,
            "result": request * shape.tiles + (shape.base + index),
        }


class CacheRowsGenerator(Generator, of=CacheRows):
    """Rows in tile ``index``, of ``operand0`` rows in all."""

    counts = True

    def outputs(self, m: Module) -> dict[str, Any]:
        rows = self.step
        beyond = Signal(rows.bit_length())  # what is not there of the last tile
        m.d.comb += beyond.eq(self.reached - self.operand0)
        return {
            "none": self.operand0 == 0,
            "last": self.operand0 <= self.reached,
            "result": Mux(self.last, rows - beyond, rows),
        }


class CacheEndDatapath(WiresDatapath, of=CacheEnd):
    """The tile of request ``operand0`` in which row ``operand1`` is."""

    def value(self, m: Module) -> Value:
        shape: Any = self.plan.function
        tile = self.operand1 >> (shape.rows.bit_length() - 1)
        return shape.base + _below(self.operand0, shape.requests) * shape.tiles + tile
