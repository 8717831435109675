"""Units that all products of integers of a layer share: the products come one after the other, in a fixed order.

A unit takes every so-many-th block of the columns of each product, and has the weights of these in a tensor of its own,
in the order in which it reads them: so they are on their way before the rows that want them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import gcd
from typing import Any

import numpy as np

from step import BF16, FP32, INT8, INT32, UINT32, Stream, Tensor, Tile
from step.functions import (
    Add,
    Compare,
    CountFrom,
    Dequantize,
    ExpertTiles,
    Matmul,
    Mul,
    RetileCol,
    RetileRow,
    RetileStreamify,
    Scale,
    SelectValid,
)
from step.functions.dequantize import Bits, packed, unpacked
from step.language.graph import Feedback
from step_torch.importing import Importer
from step_torch.layouts import Dims, TensorAxis, Value, blocks, sizes, whole
from step_torch.loops import in_turns, looped
from step_torch.lowerings.elementwise import alongside
from step_torch.lowerings.quantized import OP, quantised_rows
from step_torch.nodes import TorchNode
from step_torch.pieces import kept
from step_torch.rounds import EveryLayer
from step_torch.sources import Stored, supported
from step_torch.views import in_shape

LAST = 2**32 - 1
"""The number of the last tile of every block: they are counted up to it."""

WASTE = 1.08
"""Tiles with so much padding are taken, though narrower ones have less of it."""


@dataclass(frozen=True)
class Share:
    """Product of ``node``, of a ``weight`` [columns, depth] of so many ``bits`` with ``scales`` [columns, groups]."""

    node: TorchNode
    weight: Stored
    scales: Stored
    bits: Bits

    @property
    def columns(self) -> int:
        """Its columns."""
        return self.scales.data.shape[0]

    @property
    def groups(self) -> int:
        """Groups of its depth."""
        return self.scales.data.shape[1]

    @property
    def group(self) -> int:
        """Depth of a group."""
        return self.weight.data.shape[1] * 8 // self.bits // self.groups


@dataclass(frozen=True)
class ColumnsOf:
    """So many columns of ``whole`` from the ``first`` one on, which are blocks of it."""

    whole: Value
    first: int
    extent: int

    @property
    def dims(self) -> Dims:
        """The dimensions of these."""
        axis = TensorAxis(f"columns_{self.first}", self.extent)
        return (*self.whole.dims[:-1], (axis,) if self.extent > 1 else ())

    def cut(self, first: int, extent: int) -> ColumnsOf:
        """Some of them."""
        return replace(self, first=self.first + first, extent=extent)

    def in_shape(self, at: Importer, shape: tuple[int, ...]) -> Any:
        """They in other dimensions."""
        return in_shape(at, self.value(at), shape)

    def value(self, at: Importer) -> Value:
        """Their blocks."""
        if self.extent == sizes(self.whole.dims)[-1]:
            return self.whole
        return kept(at, self.whole, -1, range(self.first, self.first + self.extent))


@dataclass
class Joined:
    """``shares``, products of the same rows, as one: number ``place`` of a layer, in tiles of ``size`` columns, of which
    each of so many ``units`` takes as many. The first tile is at the address ``first`` of each unit."""

    place: int
    shares: Sequence[Share]
    size: int
    units: int
    first: int = 0

    @property
    def groups(self) -> int:
        """Tiles of a block of columns."""
        return self.shares[0].groups

    @property
    def turns(self) -> int:
        """Blocks of columns of each unit; the last ones may be padding."""
        return -(-sum(each.columns for each in self.shares) // (self.size * self.units))

    @property
    def tiles(self) -> int:
        """Tiles of each unit, of a layer."""
        return self.turns * self.groups

    def formed(self, data: Sequence[np.ndarray], bits: Bits) -> np.ndarray:
        """``data`` of all of them, [columns, depth] in so many ``bits``, as [units, tiles, depth, columns]."""
        parts = []
        for each in data:
            apart = bits == 4 and each.shape[-1] % self.groups > 0  # groups begin amid a byte
            groups = (unpacked(each) if apart else each).reshape(len(each), self.groups, -1)
            parts.append(unpacked(groups) if bits == 4 and not apart else groups)
        columns = np.concatenate(parts)
        missing = self.turns * self.units * self.size - len(columns)
        columns = np.pad(columns, [(0, missing), (0, 0), (0, 0)], "edge")
        turned = columns.reshape(self.turns, self.units, self.size, *columns.shape[1:]).transpose(1, 0, 3, 4, 2)
        tiles = turned.reshape(self.units, self.tiles, -1, self.size)
        return packed(tiles) if bits == 4 else tiles


class SharedUnits:
    """The units of all products of integers among ``nodes``, those of a layer whose ``sources`` go from row to row.

    Raises `Unsupported` where there are none, or where these have groups of several sizes.
    """

    def __init__(self, at: Importer, sources: EveryLayer, nodes: Sequence[TorchNode]) -> None:
        self.at, self.sources, self.units = at, sources, at.tiling.side_by_side
        shares = [self._share(each) for each in nodes if each.op == OP]
        supported(len(shares) > 0, "a layer has no products of integers whose units could be shared")
        kinds = {(each.group, each.bits, each.scales.data.dtype) for each in shares}
        supported(len(kinds) == 1, "products of integers whose groups, bits or scales differ can not share units")
        same = [[*each] for _, each in groupby(shares, key=lambda each: each.node.args[0])]
        self.kind = shares[0]
        self.size = self._size(same)
        self.joined, end = [Joined(place, each, self.size, self.units) for place, each in enumerate(same)], 0
        for each in self.joined:
            each.first = -(-end // each.groups) * each.groups
            end = each.first + each.tiles * sources.layers
        self.end, graph = end, at.graph
        pieces = Tile(INT8, sources.rows_of_chunk, self.kind.group)
        names = [self._name(f"rows_{each.place}") for each in self.joined]
        self.fed = [graph.feedback(pieces, [graph.symbol(f"{name}_pieces")], name=name) for name in names]
        self.results, self.fed_rows = self._placed(), dict[int, tuple[Value, Stream]]()

    def _share(self, node: TorchNode) -> Share:
        _, weight, scales, _, *bits = (*node.args, *(None,) * (4 - len(node.args)))
        return Share(node, self.at.values[weight.name], self.at.values[scales.name], bits[0] if bits else 8)

    def _name(self, kind: str) -> str:
        return self.at.free(f"shared_{kind}")

    def _size(self, same: Sequence[Sequence[Share]]) -> int:
        """Columns of a tile: the most that divide those of all products, and have hardly more padding than fewer."""
        common = gcd(*(each.columns for shares in same for each in shares))
        sizes = [each for each in range(min(common, self.at.tiling.most_columns), 0, -1) if common % each == 0]
        sizes = [each for each in sizes if each * self.kind.bits % 8 == 0]
        tiles = {each: sum(Joined(0, shares, each, self.units).tiles for shares in same) for each in sizes}
        least = sum(each.columns * each.groups for shares in same for each in shares) / self.units
        fits = (each for each in sizes if tiles[each] * each <= WASTE * least)
        return next(fits, min(sizes, key=lambda each: tiles[each] * each))

    def _placed(self) -> tuple[Stream, ...]:
        """Sums [blocks of all rounds] of each product, whose rows are fed."""
        graph, name, number = self.at.graph, self._name, self.sources.chunk_number
        order = [each.place for each in self.joined for _ in range(each.turns)]
        which = graph.turns(len(self.joined), order, [len(order)], reference=number, name=name("turns"))
        groups = [self.joined[each].groups for each in order]
        counts, begins = (
            graph.generate(Tile(UINT32), each, [len(order)], reference=number, name=name(kind)).flatten(0, 1)
            for kind, each in (("counts", groups), ("begins", [LAST + 1 - each for each in groups]))
        )
        room = 2 * len(order)  # weights come before the rows
        which, counts, begins = (each.buffered(room) for each in (which.flatten(0, 1, name=name("turn")), counts, begins))
        first = graph.merge([self._first(each) for each in self.joined], which, name=name("first"))
        address = first.flat_map(CountFrom(), counts, name=name("address"))
        piece = begins.flat_map(CountFrom(), counts, name=name("piece")).assume_shape(address.shape)
        of_piece = which.reshape(1, name=name("turn_of"))[0].expand(piece, name=name("turn_of_piece"))
        x = graph.merge([each.stream for each in self.fed], of_piece, name=name("x"))
        end = graph.constant(LAST, dtype=UINT32, reference=piece, name=name("end"))
        is_last = piece.map(Compare("!="), end, name=name("goes_on")).map(SelectValid(), name=name("last"))
        sums = [self._sums(number, x, address, is_last) for number in range(self.units)]
        if self.units > 1:
            which = which.repeat(self.units, name=name("turn_of_units")).flatten(0, 1, name=name("turn_of_unit"))
        total = in_turns(self.at, sums).assume_shape(which.shape)
        return total.partition(which, targets=len(self.joined), name=name("sums"))

    def _first(self, joined: Joined) -> Stream:
        """The address of the first tile of every block [blocks of all rounds] that a unit has."""
        name, turns = self._name, ExpertTiles(self.sources.layers, joined.turns, joined.first // joined.groups)
        block = self.sources.chunk_number.flat_map(turns, name=name(f"blocks_{joined.place}"))
        block = block.flatten(0, 1, name=name(f"block_{joined.place}"))
        return block.map(Scale(joined.groups), name=name(f"first_{joined.place}"))

    def _sums(self, unit: int, x: Stream, address: Stream, is_last: Stream) -> Stream:
        """Sums [blocks of all rounds] of a unit."""
        bits, group = self.kind.bits, self.kind.group
        tiles = {"weights": (group, self.size * bits // 8), "scales": (1, self.size)}
        weights, scales = (
            address.load_random(self._tensor(unit, kind), tile=tile, name=self._name(f"load_{kind}_{unit}"))
            for kind, tile in tiles.items()
        )
        product = x.map(Matmul(out=INT32, bits=bits), weights, name=self._name(f"product_{unit}"))
        scaled = product.map(Dequantize(out=FP32), scales, name=self._name(f"scaled_{unit}"))
        sums = scaled.scan(Add(), name=self._name(f"sum_{unit}"))  # whose tiles have as many rows, unlike a reduction's
        return sums.partition(is_last, targets=1, name=self._name(f"whole_{unit}"))[0]

    def _tensor(self, unit: int, kind: str) -> Tensor:
        """Those of a unit: tiles of the first product of all layers, of the second one, and so on."""
        rows = self._data[kind][unit].reshape(-1, self._data[kind].shape[-1])
        tensor = self.at.graph.tensor(self._name(f"{kind}_{unit}"), rows.shape, INT8 if kind == "weights" else BF16)
        self.at.inputs[tensor.name] = rows
        return tensor

    @cached_property
    def _data(self) -> dict[str, np.ndarray]:
        """Weights and scales [units, tiles, depth, columns] of all layers."""
        found = dict[str, np.ndarray]()
        for kind, bits in (("weights", self.kind.bits), ("scales", 8)):
            for joined in self.joined:
                given = [each.weight if kind == "weights" else each.scales for each in joined.shares]
                own = [self.sources.data_of(each) for each in given]
                for layer, data in enumerate(zip(*own, strict=True)):
                    tiles = joined.formed(data, bits)
                    made = found.setdefault(kind, np.zeros((self.units, self.end, *tiles.shape[2:]), tiles.dtype))
                    made[:, joined.first + layer * joined.tiles :][:, : joined.tiles] = tiles
        return found

    def product(self, x: Any, bias: Stored | None) -> ColumnsOf:
        """The product of the node that is lowered now, of rows ``x`` and with a ``bias``."""
        at = self.at
        joined, place = next(
            (joined, place)
            for joined in self.joined
            for place, share in enumerate(joined.shares)
            if share.node.name == at.node.name
        )
        if joined.place not in self.fed_rows:
            self.fed_rows[joined.place] = self._fed(joined, x)
        all_sums, row_scales = self.fed_rows[joined.place]
        first = sum(each.columns for each in joined.shares[:place])
        value = ColumnsOf(all_sums, first, joined.shares[place].columns).value(at)
        for part in value.layout.loops:
            row_scales = row_scales.repeat(part.count, name=at.name("scales"))
        stream = value.stream.map(Mul(FP32 if bias else at.dtype), row_scales, name=at.name("sized"))
        if bias is not None:
            own = replace(bias, dims=value.dims[-1:])
            (stream, row), _ = alongside(at, replace(value, stream=stream), own)
            stream = stream.map(Add(out=at.dtype), row, name=at.name("biased"))
        return ColumnsOf(replace(value, stream=stream, dtype=at.dtype), 0, joined.shares[place].columns)

    def _fed(self, joined: Joined, x: Any) -> tuple[Value, Stream]:
        """The sums of ``joined`` products of rows ``x``, which go to the units, and the scales of these rows."""
        at, name = self.at, self.at.name
        x = at.whole_rows(x, "a product takes whole rows", ragged=True)
        supported(not x.layout.loops, f"units are shared by rows that come one by one, or as a tile, not {x.layout}")
        integers, scales = quantised_rows(at, x)
        if self.sources.is_by_row:
            integers = self.sources.of_chunks(integers).accum(RetileRow(), name=name("chunk"))
        again = integers.repeat(joined.turns, name=name("again"))
        pieces = again.flat_map(RetileStreamify(self.kind.group, "col"), name=name("pieces"))
        edge = self.fed[joined.place]
        edge.close(pieces.flatten(0, 1, name=name("all_pieces")).assume_shape(edge.type.shape))
        axis = TensorAxis(name("columns"), joined.turns * self.units * self.size)
        loop, columns = blocks(axis, self.size)
        layout = replace(x.layout, loops=loop, columns=columns)
        sums = looped(at, self.results[joined.place], self.sources.chunk_number.shape[0], layout.extents)
        if self.sources.is_by_row:
            tile = sums.accum(RetileCol(), name=name("tile")) if loop else sums
            sums = tile.flat_map(RetileStreamify(1, "row"), name=name("row")).assume_shape(x.stream.shape)
            layout = replace(layout, loops=(), columns=whole(axis))
        return Value(sums, (*x.dims[:-1], (axis,)), layout, FP32), scales
