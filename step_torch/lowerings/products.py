"""Products: they take tiles with whole rows, and give blocks of the columns of the second matrix.

A product with a weight waits until somebody reads it. So a piece of it is the product with a piece of the weight, and
heads come in tiles of their own at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from step import BF16, FP32, DType, Stream
from step.functions import Add, Cast, Matmul, RetileCol
from step_torch.importing import Importer
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, blocks, dividing, fitting, sizes, whole
from step_torch.loops import in_loops, in_one_loop
from step_torch.lowerings import shapes
from step_torch.lowerings.elementwise import add, alongside
from step_torch.nodes import TorchNode
from step_torch.pieces import merged
from step_torch.registry import lowers
from step_torch.sources import Stored, is_parameter, supported


@dataclass
class Product:
    """x @ weight + bias of ``node``, with ``axis`` as its columns; ``transposed``: the weight is [columns, depth]."""

    node: TorchNode
    x: Any
    weight: Stored
    bias: Stored | None
    transposed: bool
    dims: Dims
    axis: TensorAxis
    dtype: DType = BF16
    made: dict[int, Value] = field(default_factory=dict)
    parts: dict[tuple[int, int], Product] = field(default_factory=dict)

    by_groups = False
    """Whether it is summed by groups of its depth, whatever the tiling says."""

    def cut(self, first: int, extent: int) -> Product:
        """Some of its columns, as a product with these of the weight."""
        if (first, extent) not in self.parts:
            own, axis = slice(first, first + extent), TensorAxis(f"{self.axis.name}_{first}", extent)

            def form(data: np.ndarray) -> np.ndarray:
                return data[own] if self.transposed or data.ndim == 1 else data[:, own]

            formed = self.formed(str(first), form)
            dims = (*self.dims[:-1], (axis,))
            self.parts[first, extent] = replace(self, **formed, dims=dims, axis=axis, made={}, parts={})
        return self.parts[first, extent]

    def formed(self, name: str, form: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
        """The parameters, each as ``form`` makes it."""
        return {"weight": self.weight.formed(name, form, ()), "bias": self.bias and self.bias.formed(name, form, ())}

    def in_shape(self, at: Importer, shape: tuple[int, ...]) -> Any:
        """Other dimensions: heads are blocks of columns, anything else only concerns the rows."""
        if shape[-1:] == (self.axis.extent,):
            rows = shapes.in_shape(at, self.x, (*shape[:-1], sizes(self.x.dims)[-1]))
            return replace(self, x=rows, dims=(*rows.dims[:-1], self.dims[-1]), made={}, parts={})
        heads = shape[-1] if shape and self.axis.extent % shape[-1] == 0 else None
        return shapes.in_shape(at, self.value(at, heads), shape)

    def value(self, at: Importer, columns: int | None = None) -> Value:
        """The product in blocks of so many columns."""
        size = columns or self.widest(at)
        if columns is None and self.made:
            return next(iter(self.made.values()))
        if size not in self.made:
            before, at.node = at.node, self.node
            with at.graph.at(self.node.place.location):
                self.made[size] = self._made(at, size)
            at.node = before  # where it fails, that is the product's
        return self.made[size]

    def shares(self, at: Importer) -> int:
        """Shares of the columns that have units of their own, at most."""
        return 1 if at.tiling.shared else at.tiling.side_by_side

    @property
    def together(self) -> int:
        """Columns that no tile has alone: those of a byte."""
        return 1

    def widest(self, at: Importer) -> int:
        """Columns of a block where nobody asks for another number."""
        return self.together * fitting(self.axis.extent // self.together, -(-at.tiling.most_columns // self.together))

    def _made(self, at: Importer, size: int) -> Value:
        wide = self.widest(at)
        if (shares := dividing(self.axis.extent // self.together, self.shares(at))) > 1:
            whole = self._side_by_side(at, shares)
        elif (at.tiling.depth is not None or self.by_groups) and wide > size and wide % size == 0:
            whole = self.value(at, wide)
        else:
            return self._alone(at, size)
        return at.joiner.columns(whole, size, "what reads a product wants narrower tiles")

    def _side_by_side(self, at: Importer, count: int) -> Value:
        """Products with shares of the columns, put together to one tile."""
        share = self.axis.extent // count
        parts = [self.cut(number * share, share)._alone(at, share) for number in range(count)]
        first, columns = parts[0], AxisPart(self.axis, self.axis.extent)
        streams = [in_one_loop(at, each, "share") for each in parts]
        turns = at.graph.turns(count, [range(count)], reference=streams[0], name=at.name("shares"))
        gathered = at.graph.reassemble(streams, turns, order="index", name=at.name("gathered"))
        rows = gathered.assume_shape([*streams[0].shape, count]).accum(RetileCol(), name=at.name("whole"))
        return Value(in_loops(at, rows, first.stream), self.dims, replace(first.layout, columns=columns), self.dtype)

    def _alone(self, at: Importer, size: int) -> Value:
        """One product after the other, of blocks of so many columns."""
        x = at.whole_rows(self.x, "a product takes whole rows", ragged=True)
        loop, columns = blocks(self.axis, size)
        layout = replace(x.layout, loops=(*x.layout.loops, *loop), columns=columns)
        stream = self.multiplied(at, x, layout)
        if self.bias is not None:
            bias = replace(self.bias, dims=((self.axis,) if self.axis.extent > 1 else (),))
            (stream, row), _ = alongside(at, Value(stream, self.dims, layout, FP32), bias)
            stream = stream.map(Add(out=self.dtype), row, name=at.name("biased"))
        return Value(stream, self.dims, layout, self.dtype)

    def multiplied(self, at: Importer, x: Value, layout: TileLayout) -> Stream:
        """Tiles of ``layout``, of rows ``x`` that are read again for each block of columns."""
        multiply = self._in_steps if at.tiling.depth is not None and x.dims[-1] else self._at_once
        return multiply(at, self.again(at, x, layout), layout)

    def again(self, at: Importer, x: Value, layout: TileLayout) -> Value:
        """``x`` with the innermost loops of ``layout``, which it lacks."""
        stream = x.stream
        for each in layout.loops[len(x.layout.loops) :]:
            stream = stream.repeat(each.count, name=at.name("x"))
        return replace(x, stream=stream, layout=replace(x.layout, loops=layout.loops))

    @property
    def out(self) -> DType:
        return FP32 if self.bias is not None else self.dtype

    def _at_once(self, at: Importer, x: Value, layout: TileLayout) -> Stream:
        """Tiles of ``layout``, of which each is a product over the whole depth."""
        depth = next(iter(x.dims[-1]), TensorAxis(at.name("depth"), 1))
        whole = AxisPart(depth, depth.extent)
        tile = (layout.columns, whole) if self.transposed else (whole, layout.columns)
        dims = ((self.axis,), (depth,)) if self.transposed else ((depth,), (self.axis,))
        wanted = TileLayout(layout.loops, *tile)
        weight = at.in_layout(replace(self.weight, dims=dims), wanted, "a weight is read for every tile")
        product = Matmul(sum=at.tiling.sum, transposed=self.transposed, out=self.out)
        return x.stream.map(product, weight.stream, name=at.name("product"))

    def _in_steps(self, at: Importer, x: Value, layout: TileLayout) -> Stream:
        """The same tiles, each of which is summed over steps of the depth."""
        depth, size = x.dims[-1][0], layout.tile[1]
        step = dividing(depth.extent, at.tiling.depth or depth.extent)
        matrix = self._in_blocks(depth, size)
        steps, rows = blocks(depth, step)
        block, columns = matrix.dims[0], matrix.dims[-1][0]
        outer = layout.loops[: len(layout.loops) - len(block)] + tuple(AxisPart(each, each.extent) for each in block)
        wanted = TileLayout((*outer, *steps), rows, AxisPart(columns, size))
        weight = at.in_layout(matrix, wanted, "a weight is read for every tile")
        if not steps:
            product = Matmul(sum=at.tiling.sum, out=self.out)
            return x.stream.map(product, weight.stream, name=at.name("product"))
        pieces = at.joiner.columns(x, step, "a product takes a part of its depth at a time")
        total = pieces.stream.accum(Matmul(sum=at.tiling.sum), weight.stream, name=at.name("product"))
        return total if self.out is FP32 else total.map(Cast(BF16), name=at.name("rounded"))

    def _in_blocks(self, depth: TensorAxis, size: int) -> Stored:
        """The weight [blocks of ``size`` columns, depth, size], as it is read from the first number to the last."""
        turned, extent = self.transposed, self.axis.extent
        count = -(-extent // size)

        def form(data: np.ndarray) -> np.ndarray:
            matrix = np.pad(data.T if turned else data, [(0, 0), (0, count * size - extent)], "edge")
            return matrix.reshape(depth.extent, count, size).transpose(1, 0, 2)

        block = (TensorAxis(f"{self.axis.name}_blocks", count),) if count > 1 else ()
        dims = (block, (depth,), (TensorAxis(f"{self.axis.name}_block", size),))
        return self.weight.formed(f"by_{size}" + ("" if turned else "_down"), form, dims)


@lowers("aten.linear.default")
def linear(at: Importer, x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight^T + bias."""
    supported(len(weight.dims) == 2, "the weight has one dimension; x @ weight has a lowering")
    return _product(at, x, weight, bias, transposed=True)


@lowers("aten.addmm.default")
def add_product(at: Importer, bias: Any, x: Any, weight: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """x @ weight + bias."""
    supported((beta, alpha) == (1, 1), f"beta is {beta} and alpha {alpha}; 1 and 1 have a lowering")
    return _product(at, x, weight, bias, transposed=False)


@lowers("aten.mm.default", "aten.bmm.default")
def product(at: Importer, x: Any, weight: Any) -> Any:
    """x @ weight, of which neither has to be a parameter."""
    return _product(at, x, weight, None, transposed=False)


def _product(at: Importer, x: Any, weight: Any, bias: Any, *, transposed: bool) -> Any:
    is_weight = is_parameter(weight) and weight.data.ndim == 2
    columns = sizes(weight.dims)[0 if transposed else -1]
    if not is_weight or not (bias is None or (isinstance(bias, Stored) and bias.data.shape == (columns,))):
        second = shapes.permute(at, weight, [*range(len(weight.dims) - 2), -1, -2]) if transposed else weight
        result = _computed(at, x, second, at.dtype if bias is None else FP32)
        return result if bias is None else add(at, result, bias)
    at.check_format(weight)
    axis = at.axis("columns", columns)
    dims = (*x.dims[:-1], (axis,) if columns > 1 else ())
    return Product(at.node, x, weight, bias, transposed, dims, axis, at.dtype)


def _computed(at: Importer, x: Any, y: Any, out: DType) -> Value:
    """x [.., rows, depth] @ y [depth, columns], or of batches [batch, ..]; neither has to be a weight.

    A second matrix whose columns come below each other, as a transposed one's do, is taken so.
    """
    why, batches = "a product of two values takes whole rows of one, and all of the other", len(y.dims) - 2
    y = y if isinstance(y, Stored) else at.value(y)
    if batches:
        x, y = _batched(at, x, y), _batched(at, y, x)
    x = at.whole_rows(x, why)
    *outer, inner = x.dims
    if len(y.dims[-2]) > len(inner):
        y = merged(at, at.value(y), -2)
    x = below(at, x, [*chain(*outer[batches:])], why)
    names = dict(zip(chain(*y.dims[:-1]), chain(*outer[:batches], inner), strict=True))
    names |= {axis: at.axis("columns", axis.extent) for axis in y.dims[-1]}
    dims = tuple(tuple(names[axis] for axis in axes) for axes in y.dims)
    there = {part.axis for part in (*x.layout.loops, x.layout.rows) if part}
    loops = (*x.layout.loops, *(AxisPart(axis, axis.extent) for axis in chain(*outer[:batches]) if axis not in there))
    first, sideways = at.joiner.reordered(x, loops, why).stream, False
    if isinstance(y, Stored):
        loop, block = blocks(next(iter(dims[-1]), None), dividing(sizes(dims)[-1], at.tiling.most_columns))
        wanted = TileLayout((*loops, *loop), whole(next(iter(inner), None)), block)
        y = at.in_layout(replace(y, dims=dims), wanted, why)
    else:
        y = replace(y, dims=dims, layout=y.layout.renamed(names))
        sideways = y.layout.columns is None or y.layout.columns.axis not in dims[-1]
        if sideways:
            y = below(at, at.joiner.whole(y, inner, why), dims[-1], why)
        else:
            y = at.joiner.rows(below(at, y, inner, why), sizes([inner])[0], why)
        loop = tuple(part for part in y.layout.loops if part.axis in dims[-1])
        y = at.joiner.reordered(y, (*loops, *loop), why)
    for part in loop:
        first = first.repeat(part.count, name=at.name("x"))
    multiply = Matmul(transposed=sideways, sum=at.tiling.sum, out=out)
    layout = TileLayout((*loops, *loop), x.layout.rows, y.layout.rows if sideways else y.layout.columns)
    return Value(first.map(multiply, y.stream, name=at.name()), (*outer, dims[-1]), layout, out)


def _batched(at: Importer, x: Any, like: Any) -> Any:
    """``x`` whose batch has as many axes as that of ``like``, if it has fewer."""
    axes = like.dims[0]
    if len(axes) > len(x.dims[0]):
        x = shapes.in_shape(at, x, (*(each.extent for each in axes), *sizes(x.dims)[1:]))
        x = replace(x, dims=(tuple(chain(*x.dims[: len(axes)])), *x.dims[len(axes) :]))
    return x


def below(at: Importer, value: Value, axes: Sequence[TensorAxis], why: str) -> Value:
    """``value`` in tiles whose rows, if they are several, count along the last of ``axes``."""
    rows = value.layout.rows
    if rows is not None and rows.axis in axes:
        return value
    return at.joiner.row_by_row(value, why, next(iter(axes[-1:]), None))
