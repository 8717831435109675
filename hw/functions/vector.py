"""Datapath of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from step.language.dtypes import DType
from step.language.types import ElementType, Tile
from step.lowering.application import Application


class Lane(abc.ABC):
    """What is done to one scalar: a frozen dataclass."""

    out: DType
    depth = 0
    """Registers between operands and result."""

    @abc.abstractmethod
    def connect(self, m: Module, name: str, operands: Sequence[Value]) -> Value:
        """Place the lane called ``name``; returns its result."""


@dataclass(frozen=True)
class Operand:
    """The extents and the format of an operand's tile."""

    rows: int
    cols: int
    dtype: DType

    @classmethod
    def of(cls, element: ElementType) -> Operand:
        assert isinstance(element, Tile)
        return cls(*element.shape, element.dtype)

    @property
    def bits(self) -> int:
        return self.rows * self.cols * self.dtype.bits


def vector_datapath(lane: Callable[..., Lane], application: Application, identity: int | None = None) -> VectorDatapath:
    """The datapath of ``lane`` on `vector_lanes` lanes.

    ``lane`` takes the formats of its operands and of the result; ``identity``: see `VectorDatapath`.
    """
    operands, out = tuple(Operand.of(each) for each in application.inputs), Operand.of(application.result)
    formats = [each.dtype for each in operands] if identity is None else [out.dtype, operands[0].dtype]
    return VectorDatapath(lane(*formats, out.dtype), operands, out, application.fabric.vector_lanes, identity)


class VectorDatapath(Datapath):
    """``result`` = ``lane`` of the operands, scalar by scalar, on at most ``lanes`` lanes.

    Operands with one row or one column are repeated. The operands are registered at the start and move down by the
    scalars of a cycle; results move in from the top. ``identity`` makes it a reduction from these bits on: the state
    is the lane's first operand, and rotates.
    """

    def __init__(
        self, lane: Lane, operands: tuple[Operand, ...], result: Operand, lanes: int, identity: int | None
    ) -> None:
        self.lane, self.operands, self.shape, self.identity = lane, operands, result, identity
        scalars = result.rows * result.cols
        self.initiation_interval = -(-scalars // lanes)
        self.lanes = -(-scalars // self.initiation_interval)
        self.latency = self.initiation_interval + 1 + lane.depth
        assert identity is None or lane.depth == 0, "the state must be there when its scalars come round again"
        super().__init__([each.bits for each in operands], result.bits, reduce=identity is not None)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return type(self.lane).__module__, self.lane, self.operands, self.shape, self.lanes, self.identity

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        busy = self._busy(m)
        operands = [self._shift(m, port, busy) for port in range(len(self.operands))]
        width = self.shape.dtype.bits
        groups = [
            Signal(self.lanes * width, name=f"group_{at}", reset_less=True) for at in range(self.initiation_interval)
        ]
        if self.identity is not None:
            first = Signal(reset_less=True)
            with m.If(self.start):
                m.d.sync += first.eq(self.first)
            identity = Cat([C(self.identity, width)] * self.lanes)
            operands.insert(0, Mux(first, identity, groups[0]))
        results = []
        for lane in range(self.lanes):
            scalars = [each.word_select(lane, len(each) // self.lanes) for each in operands]
            results.append(self.lane.connect(m, f"lane_{lane}", scalars))
        arrives: Value = busy
        for at in range(self.lane.depth):
            late = Signal(name=f"busy_{at + 1}")
            m.d.sync += late.eq(arrives)
            arrives = late
        with m.If(arrives):
            m.d.sync += [to.eq(source) for to, source in pairwise(groups)]
            m.d.sync += groups[-1].eq(Cat(results))
        m.d.comb += self.result.eq(Cat(groups))
        return m

    def _busy(self, m: Module) -> Signal:
        """Whether the lanes work: for `initiation_interval` cycles from the one behind the start on."""
        left = Signal(range(self.initiation_interval + 1))
        busy = Signal()
        m.d.comb += busy.eq(left != 0)
        with m.If(self.start):
            m.d.sync += left.eq(self.initiation_interval)
        with m.Elif(busy):
            m.d.sync += left.eq(left - 1)
        return busy

    def _shift(self, m: Module, port: int, busy: Value) -> Signal:
        """The scalars of an operand for this cycle."""
        operand, shape = self.operands[port], self.shape
        bits = getattr(self, f"operand{port}")
        scalars = []
        for i in range(shape.rows):
            for j in range(shape.cols):
                index = (i if operand.rows > 1 else 0) * operand.cols + (j if operand.cols > 1 else 0)
                scalars.append(bits.word_select(index, operand.dtype.bits))
        scalars += [C(0, operand.dtype.bits)] * (self.lanes * self.initiation_interval - len(scalars))
        held = []
        for at in range(self.initiation_interval):
            group = Cat(scalars[at * self.lanes : (at + 1) * self.lanes])
            held.append(Signal(len(group), name=f"operand{port}_{at}", reset_less=True))
            with m.If(self.start):
                m.d.sync += held[at].eq(group)
        with m.If(busy & ~self.start):
            m.d.sync += [to.eq(source) for to, source in pairwise(held)]
        return held[0]
