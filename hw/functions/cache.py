"""Generators and datapaths of functions that make addresses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath, no_datapath
from hw.functions.generator import Generator
from hw.verilog.modules import Parametric
from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles
from step.language.function import Function
from step.language.types import Selector
from step.lowering.plans.plan import Application, Plan


def datapath(function: Function, application: Application, plan: Plan) -> Parametric:
    """The generator; of `CacheEnd` a datapath."""
    match function:
        case ExpertTiles():
            return ExpertTilesGenerator(plan, function, one_hot=isinstance(application.inputs[0], Selector))
        case CacheTiles():
            return CacheTilesGenerator(plan, function)
        case CacheRows():
            return CacheRowsGenerator(plan, function)
        case CacheEnd():
            return CacheEndDatapath(plan, function)
    raise no_datapath(function)


def _below(value: Value, bound: int) -> Value:
    """The bits of a ``value`` below ``bound`` that say something, so that a product with it is small."""
    return value[: (bound - 1).bit_length()] if bound > 1 else C(0, 1)


class ExpertTilesGenerator(Generator):
    """The tiles of expert ``operand0``: a number, or ``one_hot``."""

    def __init__(self, plan: Plan, function: ExpertTiles, *, one_hot: bool) -> None:
        self.function, self.one_hot = function, one_hot
        super().__init__(plan, [function.experts if one_hot else 32], 32, fault=True)
        self.parameters = {"function": self.function, "one_hot": self.one_hot}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        experts, tiles = self.function.experts, self.function.tiles
        expert: Value = self.operand0
        if self.one_hot:
            bits = max(1, (experts - 1).bit_length())
            expert = Cat(Cat(self.operand0[at] for at in range(experts) if at >> bit & 1).any() for bit in range(bits))
            m.d.comb += self.invalid.eq((self.operand0 == 0) | (self.operand0 & (self.operand0 - 1)).any())
        else:
            m.d.comb += self.invalid.eq(self.operand0 >= experts)
        m.d.comb += [
            self.none.eq(0),
            self.last.eq(self.index == tiles - 1),
            self.result.eq(self.function.base + _below(expert, experts) * tiles + self.index),
        ]
        return m


class CacheTilesGenerator(Generator):
    """The tiles of request ``operand0``, which has ``operand1`` rows."""

    def __init__(self, plan: Plan, function: CacheTiles) -> None:
        self.function: CacheTiles = function
        super().__init__(plan, [32, 32], 32, fault=True, step=function.rows)
        self.parameters = {"function": function}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.function
        request, index = _below(self.operand0, shape.requests), _below(self.index, shape.tiles)
        length, reached = (_below(each, shape.tiles * shape.rows + 1) for each in (self.operand1, self.reached))
        m.d.comb += [
            self.invalid.eq((self.operand0 >= shape.requests) | (self.operand1 > shape.tiles * shape.rows)),
            self.none.eq(self.operand1 == 0),
            self.last.eq(length <= reached),
            self.result.eq(request * shape.tiles + (shape.base + index)),
        ]
        return m


class CacheRowsGenerator(Generator):
    """Of ``operand0`` rows in all, those in tile ``index``."""

    def __init__(self, plan: Plan, function: CacheRows) -> None:
        self.function: CacheRows = function
        super().__init__(plan, [32], 32, step=function.rows)
        self.parameters = {"function": function}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rows = self.step
        beyond = Signal(rows.bit_length())  # what is not there of the last tile
        m.d.comb += [
            beyond.eq(self.reached - self.operand0),
            self.none.eq(self.operand0 == 0),
            self.last.eq(self.operand0 <= self.reached),
            self.result.eq(Mux(self.last, rows - beyond, rows)),
        ]
        return m


class CacheEndDatapath(Datapath):
    """The tile of request ``operand0`` in which row ``operand1`` is."""

    clocked = False

    def __init__(self, plan: Plan, function: CacheEnd) -> None:
        self.function: CacheEnd = function
        super().__init__(plan, [32, 32], 32, reduce=False, latency=0)
        self.parameters = {"function": function}

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        shape = self.function
        tile = self.operand1 >> (shape.rows.bit_length() - 1)
        m.d.comb += self.result.eq(shape.base + _below(self.operand0, shape.requests) * shape.tiles + tile)
        return m
