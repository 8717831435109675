"""Datapath of SiLU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Value

from hw.arithmetic.convert import as_fp32
from hw.arithmetic.silu import Silu as SiluUnit
from hw.functions.datapath import Datapath, no_datapath
from hw.functions.elementwise import ConvertLane
from hw.functions.sequence import later
from hw.functions.vector import Lane, vector_datapath
from hw.shared import Shared
from step.functions.silu import Silu
from step.language.dtypes import FP32, DType
from step.language.function import Function
from step.lowering.application import Application


def datapath(function: Function, application: Application) -> Datapath:
    """The datapath for a tile, on `vector_lanes` lanes; the same under ``arithmetic="model"``."""
    if not isinstance(function, Silu):
        raise no_datapath(function)
    return vector_datapath(SiluLane, application)


@dataclass(frozen=True)
class SiluLane(Lane):
    """SiLU of a scalar in FP32, then rounded to ``out``."""

    source: DType
    out: DType
    stages: int

    @property
    def depth(self) -> int:  # type: ignore[override]
        return SiluUnit(self.stages).depth + (self.out is not FP32)

    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        m.submodules[name] = unit = Shared(SiluUnit(self.stages))
        m.d.comb += unit.value.eq(as_fp32(operands[0], self.source))
        if self.out is FP32:
            return unit.result
        rounded = later(m, unit.result, 1, f"{name}_silu")
        return ConvertLane(FP32, self.out, self.stages).connect(m, f"{name}_round", [rounded])
