"""Joins: what brings a value from the layout that it has to the one that an operator takes.

The ladder, cheapest first: nothing; Flatten, Reshape and Promote, which only move stops; Repeat; RetileStreamify, which
cuts tiles; Retile, which joins them; Bufferize and Streamify, which read a part of the value in another order; and a
way through off-chip memory for what is larger than on-chip memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, takewhile
from math import gcd, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from step import Stream
from step.errors import expect
from step.functions import Max, RetileCol, RetileRow, RetileStreamify, Transpose
from step.language.dims import dim
from step_torch.layouts import AxisPart, Side, TensorAxis, TileLayout, Value
from step_torch.nodes import Origin
from step_torch.ragged import exact

if TYPE_CHECKING:
    from step_torch.importing import Importer


@dataclass(frozen=True)
class Join:
    """Converter in front of an operator of torch, where tiles come in another layout than it takes.

    ``node``: the operator.
    ``kind``: the converter.
    ``bytes``: bytes that it holds.
    ``why``: why it is there.
    ``place``: line of the model.

    >>> joins = step_torch.load("tests/step_torch/captured/page.pt2").joins()
    >>> [(join.kind, join.bytes, join.node) for join in joins]
    [('Retile to 64 of linear_columns', 512, 'linear_2'), ('Retile to 32 of x_2', 256, 'add_18')]
    """

    node: str
    kind: str
    bytes: int
    why: str
    place: Origin

    def __str__(self) -> str:
        return f"{self.kind}, {self.bytes:,} bytes, for {self.node} ({self.place}): {self.why}"


class NoJoin(Exception):
    """There is no converter between two layouts; the message says which these are."""


@dataclass
class Joiner:
    """Converters in front of the node that is lowered now; all that are ``placed`` are entered there."""

    at: Importer
    placed: list[Join] = field(default_factory=list)
    made: dict[tuple[Any, ...], tuple[TileLayout, Value]] = field(default_factory=dict)
    """Tiles that were cut or joined for another node: of which stream and layout, and to how many rows or columns."""

    def to(self, value: Value, wanted: TileLayout, why: str) -> Value:
        """``value`` in the layout ``wanted``; raises `NoJoin`."""
        if wanted.tile[1] > 1:
            value = self.facing(value, wanted.columns.axis if wanted.columns else None, why)
        value = self.columns(value, wanted.tile[1], why)
        rows = value.layout.rows
        if wanted.rows is not None and wanted.rows.count > 1 and (rows is None or rows.axis != wanted.rows.axis):
            value = self.row_by_row(value, why, wanted.rows.axis)
        value = self.rows(value, wanted.tile[0], why)
        value = self.reordered(value, wanted.loops, why)
        expect(value.layout.shape == wanted.shape, f"{value.layout} can not become {wanted}", NoJoin)
        return value

    def whole(self, value: Value, axes: Sequence[TensorAxis], why: str) -> Value:
        """``value`` in tiles with all of its last dimension, ``axes``."""
        if len(axes) > 1:
            raise NoJoin(f"the last dimension is {' and '.join(each.name for each in axes)} in {value.layout}")
        axis = axes[0] if axes else None
        value = self.beside(value, axis, why)
        return self.columns(value, axis.extent, why) if axis else value

    def beside(self, value: Value, axis: TensorAxis | None, why: str) -> Value:
        """``value`` with ``axis`` in the columns of its tiles, and in no rows."""
        value = self.facing(value, axis, why)
        rows = value.layout.rows
        return self.row_by_row(value, why) if rows is not None and rows.axis == axis else value

    def facing(self, value: Value, axis: TensorAxis | None, why: str) -> Value:
        """``value`` with ``axis`` in the columns of its tiles, or one column: rows change places with columns."""
        rows, columns = value.layout.rows, value.layout.columns
        if (columns.axis if columns else None) == axis:
            return value
        if rows is None or rows.axis != axis:  # it is in the loops, if it is anywhere
            rows = AxisPart(axis, 1) if axis else None
            if value.layout.tile[1] == 1:
                return replace(value, layout=replace(value.layout, columns=rows))
            value = self.rows(value, 1, why)
        stream = value.stream
        if max(value.layout.tile) > 1:
            stream = stream.map(Transpose(), name=self.at.name("turned"))
            self._enter("Transpose", _tile_bytes(value), why)
        return replace(value, stream=stream, layout=replace(value.layout, rows=columns, columns=rows))

    def columns(self, value: Value, size: int, why: str) -> Value:
        """``value`` in tiles of ``size`` columns."""
        return self.tiled(value, "col", size, why)

    def rows(self, value: Value, size: int, why: str) -> Value:
        """``value`` in tiles of ``size`` rows."""
        return self.tiled(value, "row", size, why)

    def row_by_row(self, value: Value, why: str, axis: TensorAxis | None = None) -> Value:
        """``value`` in tiles of one row, which counts along ``axis``."""
        value = self.rows(value, 1, why)
        return replace(value, layout=replace(value.layout, rows=AxisPart(axis, 1) if axis else None))

    def reordered(self, value: Value, loops: Sequence[AxisPart], why: str) -> Value:
        """``value`` with these loops; those that it has not repeat it."""
        have, loops = value.layout.loops, tuple(loops)
        for place, (outer, inner) in enumerate(pairwise(loops)):
            both = AxisPart(inner.axis, outer.count * inner.count, inner.step)
            if both in have and outer == AxisPart(inner.axis, outer.count, inner.count * inner.step):
                value = self.reordered(value, (*loops[:place], both, *loops[place + 2 :]), why)
                stream = value.stream.reshape(inner.count, rank=len(loops) - 2 - place, name=self.at.name("parts"))[0]
                return replace(value, stream=stream, layout=replace(value.layout, loops=loops))
        apart = [_finer(have, part) for part in loops]
        if any(len(each) > 1 for each in apart):
            return self._merged(self.reordered(value, [*chain.from_iterable(apart)], why), apart, loops)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(have, loops, strict=False)))
        stream = value.stream
        if same == len(have):
            for part in loops[same:]:
                stream = stream.repeat(part.count, name=self.at.name(f"each_{part.axis.name}"))
                self._enter(f"Repeat along {part}", 0, why)
        else:
            stream = self._buffered(value, same, loops, why)
        return replace(value, stream=stream, layout=replace(value.layout, loops=loops))

    def in_order(self, value: Value, why: str) -> Value:
        """``value`` with its loops in the order of torch."""
        axes = [axis for each in value.dims for axis in each]
        loops = sorted(value.layout.loops, key=lambda part: (axes.index(part.axis), -part.step))
        return self.reordered(value, loops, why)

    def _merged(self, value: Value, apart: Sequence[Sequence[AxisPart]], loops: tuple[AxisPart, ...]) -> Value:
        """``value`` with one of ``loops`` for each group of those that it has."""
        stream = value.stream
        for inner, group in enumerate(reversed(apart)):
            if len(group) > 1:
                stream = stream.flatten(inner, inner + len(group) - 1, name=self.at.name("merged"))
        return replace(value, stream=stream, layout=replace(value.layout, loops=loops))

    def tiled(self, value: Value, side: Side, size: int, why: str) -> Value:
        """``value`` in tiles of ``size`` rows or columns."""
        part = value.layout.columns if side == "col" else value.layout.rows
        if part is None or part.count == size:
            return value
        if part.axis in value.ragged and (size == 1 or value.layout.reach(part.axis) % size):
            return self.tiled(exact(self.at, value, [part.axis]), side, size, why)
        common = gcd(part.count, size) if part.step == 1 else 1
        if part.count > common < size:  # first those that are in both, or what lies between
            return self.tiled(self.tiled(value, side, common, why), side, size, why)
        parts = [each for each in value.layout.parts if each]
        axes = [each.axis for each in parts]
        key = value.stream.key, side, size, *((each.count, each.step, axes.index(each.axis)) for each in parts)
        if key not in self.made:
            self.made[key] = value.layout, self.cut(value, part, side, size, why)
        before, known = self.made[key]
        names = {one.axis: own.axis for one, own in zip(before.parts, value.layout.parts, strict=True) if one and own}
        return replace(value, stream=known.stream, layout=known.layout.renamed(names))

    def cut(self, value: Value, part: AxisPart, side: Side, size: int, why: str) -> Value:
        """``value``, of whose tiles ``part`` is one ``side``, in tiles of ``size`` there."""
        layout = value.layout
        inner = layout.loops[-1] if layout.loops else None
        if part.count > size:
            cut, tile = part.count // size, AxisPart(part.axis, size, part.step if size > 1 else 1)
            on = inner is not None and inner.axis == part.axis and inner.step == part.count * part.step
            pieces = value.stream.flat_map(RetileStreamify(size, side, rank=0 if on else 1), name=self.at.name("cut"))
            self._enter(f"RetileStreamify to {tile}", _tile_bytes(value), why)
            loops = layout.loops[:-1] if on else layout.loops
            count = cut * (inner.count if on and inner is not None else 1)
            layout = replace(layout, loops=(*loops, AxisPart(part.axis, count, size * part.step)))
            return replace(value, stream=pieces, layout=layout.with_side(side, tile))
        other = layout.rows if side == "col" else layout.columns
        if other is not None and other.axis == part.axis and other.count > 1:
            value = self.tiled(value, "row" if side == "col" else "col", 1, why)
        value = self.innermost(value, part, why, size)
        loop, joined = value.layout.loops[-1], size // part.count
        stream, loops = value.stream, value.layout.loops[:-1]
        if joined < loop.count:
            stream = stream.reshape(joined, name=self.at.name("chunks"))[0]
            loops = (*loops, AxisPart(part.axis, loop.count // joined, size * part.step))
        stream = stream.accum(RetileCol() if side == "col" else RetileRow(), name=self.at.name("joined"))
        tile = AxisPart(part.axis, size, part.step)
        self._enter(f"Retile to {tile}", joined * _tile_bytes(value), why)
        return replace(value, stream=stream, layout=replace(value.layout, loops=loops).with_side(side, tile))

    def innermost(self, value: Value, part: AxisPart, why: str, size: int | None = None) -> Value:
        """``value`` with the loops over blocks ``part`` innermost, as far as ``size`` goes, as one."""
        reach, held = part.step * (size or part.axis.extent), value.layout.loops
        within = [each for each in held if each.axis == part.axis and each.step < reach]
        own = sorted(within, key=lambda each: -each.step)
        blocks = own and own[-1].step == part.count * part.step
        expect(blocks, f"no loop goes over blocks of {part} in {value.layout}", NoJoin)
        value = self.reordered(value, (*(each for each in held if each not in own), *own), why)
        while len(value.layout.loops) > 1:
            *loops, outer, inner = value.layout.loops
            if (outer.axis, outer.step) != (inner.axis, inner.count * inner.step):
                break
            both = AxisPart(inner.axis, outer.count * inner.count, inner.step)
            stream = value.stream.flatten(0, 1, name=self.at.name("flat"))
            self._enter(f"Flatten to {both}", 0, why)
            value = replace(value, stream=stream, layout=replace(value.layout, loops=(*loops, both)))
        return value

    def _buffered(self, value: Value, same: int, loops: tuple[AxisPart, ...], why: str) -> Stream:
        """The loops from ``same`` on in another order, out of a buffer or out of memory."""
        held = value.layout.loops[same:]
        strides = []
        for part in loops[same:]:
            if part in held:
                strides.append(prod(each.count for each in held[held.index(part) + 1 :]))
            elif any(each.axis == part.axis for each in held):
                raise NoJoin(f"{value.layout} has no loop over {part} in steps of {part.step}")
            else:
                strides.append(0)
        if missing := [each for each in held if each not in loops]:
            raise NoJoin(f"the loop over {missing[0]} in {value.layout} is not wanted")
        return self.read(value, same, [each.count for each in loops[same:]], strides, why)

    def read(self, value: Value, same: int, extents: list[int], strides: list[int], why: str) -> Stream:
        """The loops of ``value`` from ``same`` on, which a buffer or memory holds, as loops of ``extents`` over them.

        ``strides``: in tiles, of each of these.
        """
        outer, held = ([each.count for each in part] for part in (value.layout.loops[:same], value.layout.loops[same:]))
        size = prod(held) * _tile_bytes(value)
        if size > self.at.tiling.on_chip:
            whole = [prod(held) * prod(outer[place + 1 :]) for place in range(same)]
            return self._through_memory(value, [*outer, *extents], [*whole, *strides], why)
        buffers = value.stream.bufferize(rank=len(held), name=self.at.name("held"))
        self._enter("Bufferize and Streamify", size, why)
        return buffers.streamify(out=extents, stride=strides, name=self.at.name("again"))

    def _through_memory(self, value: Value, extents: list[int], strides: list[int], why: str) -> Stream:
        """The value is stored, and read when all of it is there."""
        (tensor, last), at, tile = self.stored(value, why), self.at, value.layout.tile
        return at.graph.load(tensor, tile=tile, out=extents, stride=strides, reference=last, name=at.name("reload"))

    def stored(self, value: Value, why: str, before: int = 0, behind: int = 0) -> tuple[Any, Stream]:
        """A tensor with the tiles of ``value`` in their order, and a stream that says when all of it is there.

        There is room for so many others ``before`` the first one and ``behind`` the last one.
        """
        expect(value.stream.shape[0] == dim(1), "rows that go round would be stored behind each other", NoJoin)
        rows, columns = value.layout.tile
        count = before + prod(value.layout.extents) + behind
        kept = value.stream.element.tiles[0].dtype
        tensor = self.at.graph.tensor(self.at.name("spilled"), (count * rows, columns), kept)
        self.at.inputs[tensor.name] = np.broadcast_to(np.zeros((), kept.numpy), tensor.shape)
        address = self.at.graph.count(start=before, reference=value.stream, name=self.at.name("address"))
        stored = value.stream.store_random(tensor, address, name=self.at.name("store"))
        numbers = self.at.graph.count(reference=stored, name=self.at.name("stored"))
        self._enter("a way through off-chip memory", 2 * _tile_bytes(value), why)
        loops = len(value.layout.loops)
        return tensor, numbers.accum(Max(), rank=loops, name=self.at.name("last")) if loops else numbers

    def _enter(self, kind: str, size: int, why: str) -> None:
        self.placed.append(Join(self.at.node.name, kind, size, why, self.at.node.place))


def _tile_bytes(value: Value) -> int:
    (tile,) = value.stream.element.tiles
    return prod(value.layout.tile) * tile.dtype.bytes


def _finer(have: Sequence[AxisPart], part: AxisPart) -> list[AxisPart]:
    """The loops of ``have`` that together are ``part``; itself where these are not several."""
    own = sorted((each for each in have if each.axis == part.axis), key=lambda each: -each.step)
    chained = all(one.step == each.step * each.count for one, each in pairwise(own))
    whole = prod(each.count for each in own) == part.count and own[-1:] and own[-1].step == part.step
    return own if len(own) > 1 and part not in own and chained and whole else [part]
