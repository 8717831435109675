"""Products of rows that are quantised on the way and weights of 8 or 4 bits: exact integers, and a scale by group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from step import FP32, INT32, Stream, Tile
from step.functions import Add, Dequantize, Matmul, Mul
from step.functions.dequantize import Bits
from step.library import quantize_rows
from step_torch.importing import Importer
from step_torch.joined import OP, tiles_of
from step_torch.layouts import TensorAxis, TileLayout, Value, sizes, whole
from step_torch.loops import in_loops, in_turns, taken_apart
from step_torch.lowerings.products import Product
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter, supported


@dataclass(kw_only=True)
class QuantizedProduct(Product):
    """Product of integers by groups of the depth, with ``scales`` [columns, groups] of a weight of so many ``bits``.

    Units side by side take the groups by turns, and their products are summed in order; tiles of dynamic rows, which do
    not come in loops again, have such units for each block of the columns.
    """

    scales: Stored
    bits: Bits

    by_groups = True

    def formed(self, name: str, form: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
        return super().formed(name, form) | {"scales": self.scales.formed(name, form, ())}

    @property
    def together(self) -> int:
        return 8 // self.bits

    def multiplied(self, at: Importer, x: Value, layout: TileLayout) -> Stream:
        count, why = self.scales.data.shape[1], "a product of integers takes a group of its depth at a time"
        rows, row_scales = (self.again(at, replace(x, stream=each), layout) for each in quantised_rows(at, x))
        pieces = at.joiner.columns(rows, x.dims[-1][0].extent // count, why).stream
        is_again = self._is_dynamic and len(layout.loops) > len(x.layout.loops)
        least = 1 if is_again else min(count, self._units(at))
        units = next(each for each in range(least, count + 1) if count % each == 0)
        weights = [self._read(at, self.weight, layout, self.bits, number, units) for number in range(units)]
        multiply = Matmul(out=INT32, bits=self.bits)
        parts = _taken_apart(at, pieces, units, weights[0])
        pairs = zip(parts, weights, strict=True)
        products = [part.map(multiply, weight, name=at.name("product")) for part, weight in pairs]
        scales = self._read(at, self.scales, layout)
        scaled = _in_turns(at, products, scales).map(Dequantize(out=FP32), scales, name=at.name("scaled"))
        total = scaled.accum(Add(), name=at.name("sum")) if count > 1 else scaled
        return total.map(Mul(self.out), row_scales.stream, name=at.name("sized"))

    def shares(self, at: Importer) -> int:
        units, groups = self._units(at), self.scales.data.shape[1]
        blocks = -(-self.axis.extent // at.tiling.most_columns)
        return min(units, blocks) if self._is_dynamic else -(-units // groups)

    @property
    def _is_dynamic(self) -> bool:
        tile = self.x.stream.element if isinstance(self.x, Value) else None
        return isinstance(tile, Tile) and not tile.rows.is_static

    def _units(self, at: Importer) -> int:
        """Units with which products of the same rows, each by its columns, have as many as are side by side."""
        same = (node for node in at.nodes.nodes if node.op == OP and node.args[0] == self.node.args[0])
        columns, most = sum(at.nodes.metas[node.name].shape[-1] for node in same), at.tiling.most_columns
        return -(-most * at.tiling.side_by_side * self.axis.extent // (columns * min(self.axis.extent, most)))

    def _read(
        self, at: Importer, given: Stored, layout: TileLayout, bits: Bits = 8, number: int = 0, units: int = 1
    ) -> Stream:
        """Weights or scales of every block of columns: of the groups whose turn it is with unit ``number``."""
        size, count = layout.tile[1], self.scales.data.shape[1]
        blocks = -(-self.axis.extent // size)
        form = partial(tiles_of, bits=bits, groups=count, size=size, blocks=blocks, own=slice(number, None, units))
        made = given.formed(f"by_{size}" + f"_{number}_of_{units}" * (units > 1), form, ())
        axes = [TensorAxis(f"{self.axis.name}_{at}", extent) for at, extent in enumerate(made.data.shape)]
        block, group, depth, columns = (whole(each) if each.extent > 1 else None for each in axes)
        outer = layout.loops[: len(layout.loops) - (blocks > 1)]
        wanted = TileLayout((*outer, *(each for each in (block, group) if each)), depth, columns)
        dims = tuple((each,) if each.extent > 1 else () for each in axes)
        return at.in_layout(replace(made, dims=dims), wanted, "a weight is read for every tile").stream


def quantised_rows(at: Importer, x: Value) -> tuple[Stream, Stream]:
    """Integers and scales of the rows of ``x``, which all products of them share."""
    if (key := (0, x.stream.key)) not in at.shared:
        at.shared[key] = quantize_rows(x.stream, name=at.name("rows"))
    integers, scales = at.shared[key]
    return integers, scales


def _taken_apart(at: Importer, pieces: Stream, units: int, like: Stream) -> tuple[Stream, ...]:
    """The pieces that each of so many units takes, of the shape of ``like``."""
    if units == 1:
        return (pieces,)
    if (key := (units, pieces.key)) not in at.shared:
        at.shared[key] = tuple(in_loops(at, each, like) for each in taken_apart(at, pieces, units, "parts"))
    return at.shared[key]


def _in_turns(at: Importer, products: list[Stream], like: Stream) -> Stream:
    """The products of all groups in order, in the loops of ``like``."""
    if len(products) == 1:
        return products[0]
    flat = [each.flatten(0, each.rank, name=at.name("flat")) if each.rank else each for each in products]
    return in_loops(at, in_turns(at, flat), like)


@lowers(OP)
def quantized_linear(at: Importer, x: Any, weight: Any, scales: Any, bias: Any = None, bits: Bits = 8) -> Any:
    """x @ weight^T + bias by integers: weights of 8 or 4 bits with scales, rows in 8 bits with a scale of their own."""
    given = [each for each in (weight, scales, bias) if each is not None]
    supported(all(map(is_parameter, given)), "weights or scales that are no parameters")
    depth, (columns, groups) = sizes(x.dims)[-1], scales.data.shape
    fits = weight.data.dtype == np.int8 and weight.data.shape == (columns, depth * bits // 8) and depth % groups == 0
    fits = fits and bits in (4, 8) and scales.data.dtype.name in ("bfloat16", "float32")
    supported(
        fits,
        f"weights {weight.data.dtype}{list(weight.data.shape)} of {bits} bits and scales {scales.data.dtype}"
        f"{list(scales.data.shape)} for rows of {depth}; int8 [columns, depth * bits / 8] of 4 or 8 and bfloat16 or "
        "float32 [columns, groups] have a lowering",
    )
    at.notes[f"rows in 8 bits, and weights in {bits} with a scale for {depth // groups}: sums are of integers"] = None
    weight, scales = (replace(each, is_constant=True) for each in (weight, scales))
    if at.sources.units is not None:
        return at.sources.units.product(x, bias)
    axis = at.axis("columns", columns)
    dims = (*x.dims[:-1], (axis,) if columns > 1 else ())
    return QuantizedProduct(at.node, x, weight, bias, True, dims, axis, at.dtype, scales=scales, bits=bits)
