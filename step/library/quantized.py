"""Products of activations that are quantised on the way and weights that are kept quantised."""

from __future__ import annotations

from step.functions.cast import Cast
from step.functions.dequantize import Bits, Dequantize
from step.functions.elementwise import Abs, Add, Mul, Scale
from step.functions.matmul import Matmul
from step.functions.reciprocal import Reciprocal
from step.functions.row import RowMax
from step.language.arguments import checked
from step.language.dtypes import BF16, FP32, INT8, INT32, DType
from step.language.stream import Stream

MOST = 127
"""The largest integer of an activation; the smallest is its negative."""


@checked
def quantize_rows(rows: Stream, *, name: str = "quantize_rows") -> tuple[Stream, Stream]:
    """Rows of tiles ``[rows, columns]`` of BF16 or FP32 as INT8 and their scales, FP32 tiles ``[rows, 1]``.

    A scale is the largest magnitude of its row times 1 / 127; integers are the scalars times `Reciprocal` of the scale,
    rounded to nearest even and saturated. A row of zeros, or below 127 * 2^-126 throughout, has the scale 0; of the
    former the integers are 0. A row with an infinity or NaN has it as its scale, and integers that are 0.

    Raises `TypeMismatch` for other elements, and for a number of columns that only a run tells.

    >>> graph = Graph()
    >>> integers, scales = quantize_rows(graph.source("x", Tile(BF16, 1, 3), [1]))
    >>> integers.sink("integers")
    >>> scales.sink("scales")
    >>> run = step.run(graph, "interpret", inputs={"x": [[[127, -63.5, 8]]]})
    >>> run.outputs["integers"].numpy().ravel().tolist(), run.outputs["scales"].numpy().ravel().tolist()
    ([127, -64, 8], [1.0])
    """
    largest = rows.map(Abs(), name=f"{name}_magnitudes").map(RowMax(), name=f"{name}_largest")
    scales = largest.map(Scale(1 / MOST, FP32), name=f"{name}_scales")
    factors = scales.map(Reciprocal(), name=f"{name}_factors")
    return rows.map(Mul(FP32), factors, name=f"{name}_scaled").map(Cast(INT8), name=name), scales


@checked
def quantized_matmul(
    rows: Stream,
    scales: Stream,
    weights: Stream,
    weight_scales: Stream,
    *,
    bits: Bits = 8,
    out: DType = BF16,
    name: str = "quantized_matmul",
) -> Stream:
    """Matrix product of INT8 rows and quantised weights, both with scales, summed over ``n`` groups of k.

    ``rows``: a stream ``[.., n]`` of INT8 tiles ``[M, k]``, the columns of a group each. Rows and weights may have a
    dimension more, ``[.., n, m]``: then a group has the k of m tiles, and its product is there sooner behind the last.
    ``scales``: a stream ``[..]`` of tiles ``[M, 1]`` of BF16 or FP32, as `quantize_rows` makes them.
    ``weights``: a stream ``[.., n]`` of INT8 tiles ``[k, N]``, or ``[k, N / 2]`` of two integers each with 4 ``bits``.
    ``weight_scales``: a stream ``[.., n]`` of tiles ``[1, N]`` of BF16 or FP32, or ``[1, 1]`` for all columns.
    ``bits``: 8 or 4, of a weight.
    ``out``: format of the result, a stream ``[..]`` of tiles ``[M, N]``: BF16 or FP32.

    A product of a group is exact in INT32; rounded to FP32 (which holds all below 2^24) it is multiplied by the scale
    of its weights, and added to the sum of the groups before, from +0 on. The sum is multiplied by the scale of the
    row, and rounded once to ``out``.

    Raises `TypeMismatch` for tiles that do not fit.

    >>> graph = Graph()
    >>> shapes = {"x": (INT8, 1, 2), "w": (INT8, 2, 1), "w_scales": (FP32, 1, 2)}
    >>> x, w, w_scales = (graph.source(name, Tile(*shape), [1, 2]) for name, shape in shapes.items())
    >>> quantized_matmul(x, graph.source("x_scales", Tile(FP32), [1]), w, w_scales, bits=4).sink("y")
    >>> data = {"x": [[[[1, 2]], [[3, 4]]]], "x_scales": [0.5], "w": [[[[0x21], [0x43]], [[0x10], [0x01]]]]}
    >>> run = step.run(graph, "interpret", inputs=data | {"w_scales": [[[[1, 10]], [[1, 10]]]]})
    >>> run.outputs["y"].numpy().ravel().tolist()
    [5.5, 65.0]
    """
    applied = rows.accum if rows.rank > weight_scales.rank else rows.map
    products = applied(Matmul(out=INT32, bits=bits), weights, name=f"{name}_products")
    scaled = products.map(Dequantize(out=FP32), weight_scales, name=f"{name}_scaled")
    return scaled.accum(Add(), name=f"{name}_sums").map(Mul(out), scales, name=name)
