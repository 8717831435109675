"""Datapath of functions that treat every scalar of a tile alike."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.functions.sequence import counter, later, loop_store
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

    ``lane`` takes the formats of its operands and of the result, and `FabricConfig.stages`; ``identity``: see
    `VectorDatapath`.
    """
    operands, out = tuple(Operand.of(each) for each in application.inputs), Operand.of(application.result)
    formats = [each.dtype for each in operands] if identity is None else [out.dtype, operands[0].dtype]
    fabric = application.fabric
    return VectorDatapath(lane(*formats, out.dtype, fabric.stages), operands, out, fabric.vector_lanes, identity)


class VectorDatapath(Datapath):
    """``result`` = ``lane`` of the operands, scalar by scalar, on at most ``lanes`` lanes.

    Operands with one row or one column are repeated. The operands are registered at the start and move down by the
    scalars of a cycle, a *group*; results move in from the top. ``identity`` makes it a reduction from these bits on:
    the state is the lane's first operand. It must come round before it is wanted again, so a reduction has an
    interval of the lane's cycles at least, and no more lanes than keep busy for so long.
    """

    def __init__(
        self, lane: Lane, operands: tuple[Operand, ...], result: Operand, lanes: int, identity: int | None
    ) -> None:
        self.lane, self.operands, self.shape, self.identity = lane, operands, result, identity
        scalars, cycles = result.rows * result.cols, lane.depth + 1
        self.initiation_interval = max(-(-scalars // lanes), 1 if identity is None else cycles)
        self.groups = min(self.initiation_interval, scalars)
        self.lanes = -(-scalars // self.groups)
        self.latency = self.groups + cycles
        super().__init__([each.bits for each in operands], result.bits, reduce=identity is not None)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return type(self.lane).__module__, self.lane, self.operands, self.shape, self.lanes, self.identity

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        busy = Signal()
        group, last = counter(m, self.groups, "group", busy)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(last):
            m.d.sync += busy.eq(0)
        operands = [self._shift(m, port, busy) for port in range(len(self.operands))]
        arrives = later(m, busy, self.lane.depth, "busy")
        results = Signal(self.lanes * self.shape.dtype.bits)
        if self.identity is not None:
            operands.insert(0, self._state(m, group, arrives, results))
        scalars = [[each.word_select(lane, len(each) // self.lanes) for each in operands] for lane in range(self.lanes)]
        m.d.comb += results.eq(Cat(self.lane.connect(m, f"lane_{lane}", each) for lane, each in enumerate(scalars)))
        groups = [Signal(len(results), name=f"group_{at}", reset_less=True) for at in range(self.groups)]
        with m.If(arrives):
            m.d.sync += [to.eq(source) for to, source in pairwise([*groups, results])]
        m.d.comb += self.result.eq(Cat(groups))
        return m

    def _state(self, m: Module, group: Value, arrives: Value, results: Value) -> Value:
        """The lanes' first operand in a reduction: what became of this group, or the identity."""
        assert self.identity is not None
        first = Signal(reset_less=True)
        with m.If(self.start):
            m.d.sync += first.eq(self.first)
        identity = Cat([C(self.identity, self.shape.dtype.bits)] * self.lanes)
        return Mux(first, identity, loop_store(m, self.groups, group, arrives, results))

    def _shift(self, m: Module, port: int, busy: Value) -> Value:
        """The scalars of an operand for this cycle."""
        operand, shape = self.operands[port], self.shape
        bits = getattr(self, f"operand{port}")
        scalars = []
        for i in range(shape.rows):
            for j in range(shape.cols):
                index = (i if operand.rows > 1 else 0) * operand.cols + (j if operand.cols > 1 else 0)
                scalars.append(bits.word_select(index, operand.dtype.bits))
        scalars += [C(0, operand.dtype.bits)] * (self.lanes * self.groups - len(scalars))
        held = []
        for at in range(self.groups):
            group = Cat(scalars[at * self.lanes : (at + 1) * self.lanes])
            held.append(Signal(len(group), name=f"operand{port}_{at}", reset_less=True))
            with m.If(self.start):
                m.d.sync += held[at].eq(group)
        with m.If(busy & ~self.start):
            m.d.sync += [to.eq(source) for to, source in pairwise(held)]
        return held[0]
