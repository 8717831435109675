"""FlatMap: every element becomes a stream, of a fixed shape or of as many pieces as its values say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import getitem
from typing import Any

from sim_approx.engine.words import unknown
from sim_approx.placing.site import UnitSite
from step.errors import FabricError
from step.firing.declared import Applied
from step.firing.item import RowsOf
from step.firing.machine import COMPUTES, ENDS, Channel, Machine, Pace, Sizes
from step.firing.words import need, need_all, put, room, take, values
from step.language.faults import aligned
from step.language.function import CountedFunction
from step.language.loops import Stops
from step.language.tokens import Token, empty
from step.language.types import is_dynamic
from step.lowering.links import INSIDE
from step.lowering.plans.plan import Plan, Timing
from step.ops.flat_map import FlatMap as Operator
from step.rules.broadcast import Broadcast
from step.rules.flatten import HoldingFlatten


@dataclass(slots=True, eq=False, kw_only=True)
class FlatMap(Machine):
    """One piece per firing; ``stops`` are the pieces' own stops, the last one's being ``rank``.

    Words: ``index`` of the next piece, ``parts`` of the present element (a value), of which ``part`` gives one.
    """

    rank: int
    stops: tuple[int, ...]
    expand: Callable[[Any], Any]
    part: Callable[[Any, int], Any]
    index: int = 0
    parts: Any = None

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        if not x.has_value:
            take(self.inputs[0])
            put(self.outputs[0], x if x.done else empty(x.rank + self.rank, x.stop + self.rank))
            return ENDS if x.done else None
        if self.index == 0:
            self.parts = self.expand(x.value)
        last = self.index == len(self.stops) - 1
        piece = self.part(self.parts, self.index)
        put(self.outputs[0], Token(piece, x.stop + self.rank if last else self.stops[self.index]))
        if last:
            take(self.inputs[0])
        self.index = 0 if last else self.index + 1
        return COMPUTES


@dataclass(slots=True, eq=False, kw_only=True)
class Counted(Machine):
    """One piece per firing, of as many as the operands say; none is an empty row, or nothing in a stream of rank 0.

    ``nested``: there are rows. Word: ``index`` of the next piece.
    """

    pieces: Callable[..., int]
    piece: Callable[..., Any]
    nested: bool = True
    index: int = 0

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        count = self.pieces(*values(tokens)) if x.has_value else 0
        if self.nested or count > 0 or x.done:
            room(self.outputs[0])
        last = self.index >= count - 1
        if last:
            for each in self.inputs:
                take(each)
        if x.done:
            put(self.outputs[0], x)
            return ENDS
        if count == 0:
            if self.nested:
                put(self.outputs[0], empty(x.rank + 1, x.stop + 1))
            return None
        piece = self.piece(self.index, *values(tokens))
        self.resize(count)
        put(self.outputs[0], Token(piece, x.stop + 1 if last and self.nested else 0))
        self.index = 0 if last else self.index + 1
        return COMPUTES


def build(site: UnitSite) -> Machine:
    operator = site.node.operator_as(Operator)
    function, element = operator.function, site.node.inputs[0].element
    timing = site.plan(function, reduce=False) if site.carries else Timing(1, 0)
    if isinstance(function, CountedFunction):
        piece = function.piece if site.computes else unknown
        return site.add(Counted(**site.ports(), latency=timing.latency, pieces=function.pieces, piece=piece))
    shape = function.result_shape(element)
    if is_dynamic(element) and not all(each.is_static for each in shape):
        return _rows(site, timing)
    if not all(each.is_static for each in shape):
        raise FabricError(f"{site.node.describe()}: the fabric needs a fixed number of pieces, not {list(shape)}")
    stops = tuple(Stops(tuple(map(int, shape)), function.rank))

    inputs = site.inputs
    if is_dynamic(site.elements_out[0]):
        inputs = (_arriving(site),)

    def expand(value: Any) -> Sequence[Any]:
        return [piece.value for piece in function.expand(value)]

    return site.add(
        FlatMap(
            inputs=inputs,
            outputs=site.outputs,
            latency=timing.latency,
            interval=timing.initiation_interval,
            rank=function.rank,
            stops=stops,
            expand=expand if site.computes else Applied.to_elements(site.node, function).rows or unknown,
            # A piece has the rows of the tile.
            part=getitem
            if site.computes
            else RowsOf((0,))
            if is_dynamic(site.node.output_types[0].element)
            else unknown,
        )
    )


def _arriving(site: UnitSite) -> Channel:
    """The tiles of dynamic size that have come as a whole, two at most: one comes while the one before leaves."""
    channel = site.channel(INSIDE)
    machine = site.add(Broadcast(inputs=site.inputs, outputs=(channel,)))

    def pace(rows: int) -> Pace:
        cycles = site.words_with(rows)[0]
        return Pace(cycles, cycles)

    machine.sizes, machine.sized = cache(pace), (True,)
    return channel


def _rows(site: UnitSite, timing: Plan) -> Machine:
    """The rows of tiles of dynamic size. Where there may be none at the end of a row of tiles, the one before waits."""
    operator, depth = site.node.operator_as(Operator), site.node.output_types[0].rank

    def row(index: int, value: Any) -> Any:
        return value[index : index + 1]

    piece, pieces = row if site.computes else unknown, RowsOf((0,))
    latency, interval = timing.latency, timing.initiation_interval
    holds = depth > 0 and not operator.function.rank
    rows = site.add(
        Counted(
            inputs=site.inputs,
            outputs=(site.channel(INSIDE),) if holds else site.outputs,
            latency=latency,
            interval=interval,
            pieces=pieces,
            piece=piece,
            nested=depth > 0,
        )
    )
    if holds:
        stops = (0, 0, *range(1, depth + 1))
        flatten = HoldingFlatten(
            inputs=rows.outputs, outputs=site.outputs, interval=interval, low=0, high=1, stops=stops
        )
        site.add(flatten)
    return rows


def sizes(site: UnitSite, machine: Machine) -> Sizes:
    """Paces of pieces, and of the rows of a tile."""
    operator = site.node.operator_as(Operator)

    if not site.carries:
        return lambda rows: Pace(1, 0)

    def pace(rows: int) -> Pace:
        timing = site.plan(operator.function, reduce=False, rows=rows)
        return Pace(timing.initiation_interval, timing.latency, timing.initiation_interval)

    return pace
