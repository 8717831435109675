"""Units that all products of integers of a layer share: the products come one after the other, in a fixed order.

A unit takes every so-many-th block of the columns of each product, and has the weights of these in a tensor of its own,
in the order in which it reads them: so they are on their way before the rows that want them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from step import FP32, INT8, INT32, UINT32, Stream, Tensor, Tile
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
from step.functions.dequantize import Bits
from step_torch.importing import Importer
from step_torch.joined import ColumnsOf, Joined, SharedProduct, of_same_rows
from step_torch.layouts import Value, blocks, whole
from step_torch.loops import looped
from step_torch.lowerings.elementwise import alongside
from step_torch.lowerings.quantized import quantised_rows
from step_torch.nodes import TorchNode
from step_torch.rounds import EveryLayer
from step_torch.sources import KEPT, Stored, supported

LAST = 2**32 - 1
"""The number of the last tile of every block: they are counted up to it."""

NARROW = 128
"""Columns of a result that go on together."""

AHEAD = 4
"""Tiles of each unit that are between its rows and its sums."""


class SharedUnits:
    """The units of all products of integers among ``nodes``, those of a layer whose ``sources`` go from row to row.

    ``turns`` [rounds, products]: those that come next, of the round and of others. Raises `Unsupported`
    where these have groups of several sizes.
    """

    def __init__(self, at: Importer, sources: EveryLayer, nodes: Sequence[TorchNode], turns: Stream) -> None:
        self.at, self.sources, self.units = at, sources, at.tiling.side_by_side
        same = [[self._share(each) for each in products] for products in of_same_rows(nodes)]
        kinds = {(each.group, each.bits, each.scales.data.dtype) for shares in same for each in shares}
        supported(len(kinds) == 1, "products of integers whose groups, bits or scales differ can not share units")
        self.kind = same[0][0]
        most = at.tiling.most_columns  # tiles have about as many columns, in whole bytes
        sizes = (each for each in range(most, most // 2, -1) if each * self.kind.bits % 8 == 0)
        choices = ([Joined(place, each, size, self.units) for place, each in enumerate(same)] for size in sizes)
        self.joined = min(choices, key=lambda joined: sum(each.tiles * each.size for each in joined))
        self.size = self.joined[0].size
        pieces = Tile(INT8, sources.rows_of_chunk, self.kind.group)
        names = [self._name(f"rows_{each.place}") for each in self.joined]
        self.fed = [at.graph.feedback(pieces, [at.graph.symbol(f"{name}_pieces")], name=name) for name in names]
        self.tiles, self.fed_rows = dict[tuple[str, Joined], list[np.ndarray]](), dict[int, tuple[Value, Stream]]()
        self.results = self._placed(turns.flatten(0, 1, name=self._name("turn")))

    def _share(self, node: TorchNode) -> SharedProduct:
        weight, scales = (self.at.values[each.name] for each in node.args[1:3])
        return SharedProduct(node, weight, scales, node.args[4] if len(node.args) > 4 else 8)

    def _name(self, kind: str) -> str:
        return self.at.free(f"shared_{kind}")

    def _placed(self, turn: Stream) -> tuple[Stream, ...]:
        """Sums [blocks of all turns] of each product, whose rows are fed, where products come by ``turn``."""
        graph, name, number = self.at.graph, self._name, self.sources.chunk_number
        room = 2 * sum(each.blocks for each in self.joined)  # weights come before the rows
        turn, firsts = turn.buffered(2 * len(self.joined)), self._firsts("scales")
        tiles = self._chosen([each.tiles // self.units for each in self.joined], [number] * len(firsts), turn, "tiles")
        blocks = self._chosen([each.blocks for each in self.joined], [number] * len(firsts), turn, "blocks")
        block = blocks.flat_map(CountFrom(), blocks, name=name("block_of_turn"))
        which = turn.reshape(1, name=name("turn_of"))[0].expand(block, name=name("turn_of_block"))
        which = which.flatten(0, 1, name=name("block")).buffered(room)
        sizes = [each.groups for each in self.joined]
        groups = self._chosen(sizes, firsts, which, "groups").buffered(room)
        begin = self._chosen([LAST + 1 - each for each in sizes], firsts, which, "begin").buffered(room)
        first = graph.merge(self._firsts("weights"), turn, name=name("first_weights"))
        address = first.flat_map(CountFrom(), tiles, name=name("address_of_turn")).flatten(0, 1, name=name("address"))
        first = graph.merge(firsts, which, name=name("first_scales"))
        scales = first.flat_map(CountFrom(), groups, name=name("address_scales"))
        piece = begin.flat_map(CountFrom(), groups, name=name("piece")).assume_shape(scales.shape)
        of_piece = which.reshape(1, name=name("block_of"))[0].expand(piece, name=name("block_of_piece"))
        x = graph.merge([each.stream for each in self.fed], of_piece, name=name("x"))
        products = self._products(x, address, piece)
        loaded = scales.load_random(self._tensor("scales"), tile=(1, self.size), name=name("load_scales"))
        scaled = products.map(Dequantize(out=FP32), loaded, name=name("scaled"))
        sums = scaled.scan(Add(), name=name("sum"))  # whose tiles have as many rows, unlike those of a reduction
        piece = piece.buffered(AHEAD * self.units)
        end = graph.constant(LAST, dtype=UINT32, reference=piece, name=name("end"))
        is_last = piece.map(Compare("!="), end, name=name("goes_on")).map(SelectValid(), name=name("is_last"))
        (total,) = sums.partition(is_last, targets=1, name=name("whole"))
        return total.assume_shape(which.shape).partition(which, targets=len(self.joined), name=name("sums"))

    def _chosen(self, values: Sequence[int], along: Sequence[Stream], which: Stream, kind: str) -> Stream:
        """The value of each product, as often as it is along, in the order of ``which``."""
        graph, name = self.at.graph, lambda place: self._name(f"{kind}_{place}")
        pairs = enumerate(zip(values, along, strict=True))
        each = [graph.constant(value, dtype=UINT32, reference=one, name=name(place)) for place, (value, one) in pairs]
        return graph.merge(each, which, name=self._name(kind))

    def _firsts(self, kind: str) -> list[Stream]:
        """The address of the first tile of every turn of a unit, or of every block of scales, of each product."""
        found, name = list[Stream](), self._name
        for joined, first in zip(self.joined, self._bases(kind)[:-1], strict=True):
            runs, tiles = self._runs(kind, joined)
            numbers = ExpertTiles(self.sources.layers, runs, first // tiles)
            each = self.sources.chunk_number.flat_map(numbers, name=name(f"{kind}_of_round_{joined.place}"))
            each = each.flatten(0, 1, name=name(f"{kind}_{joined.place}"))
            found.append(each.map(Scale(tiles), name=name(f"{kind}_first_{joined.place}")))
        return found

    def _runs(self, kind: str, joined: Joined) -> tuple[int, int]:
        """Runs of tiles that are read of a product one after the other, and tiles of each."""
        return (1, joined.tiles // self.units) if kind == "weights" else (joined.blocks, joined.groups)

    def _bases(self, kind: str) -> list[int]:
        """The address of the first tile of each product, a multiple of the tiles of a run, and that behind the last."""
        found = [0]
        for joined in self.joined:
            runs, tiles = self._runs(kind, joined)
            found[-1] = -(-found[-1] // tiles) * tiles
            found.append(found[-1] + self.sources.layers * runs * tiles)
        return found

    def _tensor(self, kind: str, unit: int = 0, units: int = 1) -> Tensor:
        """The tiles of a unit: those of the first product of all layers, of the second one, and so on."""
        (*firsts, end), rows = self._bases(kind), list[np.ndarray]()
        for joined, first in zip(self.joined, firsts, strict=True):
            tiles = [each[unit::units] for each in self._tiles(kind, joined)]
            rows += [np.zeros((first - sum(map(len, rows)), *tiles[0].shape[1:]), tiles[0].dtype), *tiles]
        data = np.concatenate(rows)
        assert len(data) == end
        data = data.reshape(-1, data.shape[-1])
        tensor = self.at.graph.tensor(self._name(f"{kind}_{unit}"), data.shape, KEPT[data.dtype.name])
        self.at.inputs[tensor.name] = data
        return tensor

    def _tiles(self, kind: str, joined: Joined) -> list[np.ndarray]:
        """Weights or scales of all tiles of a product, for every layer."""
        if (kind, joined) not in self.tiles:
            bits: Bits = self.kind.bits if kind == "weights" else 8
            own = [self.sources.data_of(each.weight if kind == "weights" else each.scales) for each in joined.shares]
            self.tiles[kind, joined] = [joined.formed(each, bits) for each in zip(*own, strict=True)]
        return self.tiles[kind, joined]

    def _products(self, x: Stream, address: Stream, piece: Stream) -> Stream:
        """Products of all pieces ``x`` [blocks, pieces] and their tiles, which the units take by turns."""
        graph, name, bits = self.at.graph, self._name, self.kind.bits
        multiply, tile = Matmul(out=INT32, bits=bits), (self.kind.group, self.size * bits // 8)
        room = AHEAD * self.units
        turns = graph.turns(self.units, reference=piece, name=name("unit"))
        parts, products = x.partition(turns, targets=self.units, name=name("parts")), []
        for unit, part in enumerate(parts):
            weights = address.load_random(
                self._tensor("weights", unit, self.units), tile=tile, name=name(f"load_weights_{unit}")
            )
            part = part.assume_shape(address.shape)
            products.append(part.map(multiply, weights, name=name(f"product_{unit}")))
        gathered = graph.reassemble(products, turns.buffered(room), order="index", name=name("products_gathered"))
        return gathered.flatten(0, 1, name=name("products")).assume_shape(turns.shape)

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
        again = integers.repeat(joined.blocks, name=name("again"))
        pieces = again.flat_map(RetileStreamify(self.kind.group, "col"), name=name("pieces"))
        edge = self.fed[joined.place]
        edge.close(pieces.flatten(0, 1, name=name("all_pieces")).assume_shape(edge.type.shape))
        axis = at.axis("columns", joined.blocks * joined.size)
        loop, columns = blocks(axis, joined.size)
        layout = replace(x.layout, loops=loop, columns=columns)
        sums = looped(at, self.results[joined.place], self.sources.chunk_number.shape[0], layout.extents)
        if self.sources.is_by_row:
            tile = sums.accum(RetileCol(), name=name("tile")) if loop else sums
            sums = tile.flat_map(RetileStreamify(1, "row"), name=name("row")).assume_shape(x.stream.shape)
            layout = replace(layout, loops=(), columns=whole(axis))
        value = Value(sums, (*x.dims[:-1], (axis,)), layout, FP32)
        return at.joiner.columns(
            value, gcd(joined.size, NARROW), "what reads a product begins with its first columns"
        ), scales
