"""Products of a routed expert: with weights in BF16, or with integers in groups of the depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from step import FP32, Stream
from step.functions import Matmul, RetileCol, RetileStreamify
from step.functions.dequantize import Bits
from step.library import quantize_rows, quantized_matmul
from step_torch.importing import Importer
from step_torch.joined import tiles_of
from step_torch.layouts import dividing
from step_torch.sources import Stored

Parts = Mapping[str, Stored]
"""Gate, up and down of all experts, [count, outputs, inputs] each, and biases [count, outputs], ``gate_bias`` say; no
gate where nothing is gated."""

Products = tuple[Callable[[str], Stream], Callable[[Stream], Stream]]
"""What makes the product with gate or up, and what sums up that of the state with down."""


def in_tiles(at: Importer, given: Parts, bits: Bits) -> Parts:
    """Parts of integers of so many ``bits`` as they are read: [count, blocks of columns, groups, inputs, columns] each,
    and scales [count, blocks, groups, 1, columns]."""
    at.notes[f"rows of experts in 8 bits, and their weights in {bits}: sums are of integers"] = None
    parts = {**given}
    for name in [each for each in parts if f"{each}_scales" in parts]:
        columns, groups = parts[name].data.shape[1], parts[f"{name}_scales"].data.shape[2]
        size = columns if name == "down" else columns_of(at, columns, bits)
        for kind, own in (("", bits), ("_scales", 8)):
            form = partial(tiles_of, bits=own, groups=groups, size=size, blocks=columns // size)
            parts[name + kind] = replace(parts[name + kind].formed(f"by_{size}", form, ()), is_constant=True)
    return parts


def columns_of(at: Importer, inner: int, bits: Bits = 8) -> int:
    """Columns of a block of gate and up: of 4 bits two are in a scalar."""
    pair = 8 // bits
    return pair * dividing(inner // pair, max(1, at.tiling.most_columns // pair))


def in_blocks(x: Stream, read: Callable[[str], Stream], multiply: Matmul, prefix: str) -> Products:
    """Products with weights in BF16: each block of the state is multiplied as it comes."""
    down = read("down")
    repeated = x.repeat(int(down.shape[-1]), name=f"{prefix}x_repeated")

    def project(name: str) -> Stream:
        return repeated.map(multiply, read(name), name=f"{prefix}{name}_projection")

    return project, lambda state: state.accum(multiply, down, name=f"{prefix}y")


def in_groups(x: Stream, read: Callable[[str], Stream], multiply: Matmul, prefix: str, *, parts: Parts) -> Products:
    """Products with integers: rows are quantised, those of the state as soon as they are whole."""

    def product(rows: tuple[Stream, Stream], name: str, stem: str) -> Stream:
        weights, scales = read(name), read(f"{name}_scales")
        if name != "down":
            pieces = parts[name].data.shape[2]
            weights = weights.reshape(pieces, name=f"{prefix}{name}_loop")[0]
            scales = scales.reshape(pieces, name=f"{prefix}{name}_scales_loop")[0]
        return quantized_matmul(*rows, weights, scales, bits=multiply.bits, out=FP32, name=f"{prefix}{stem}")

    def rows_of(y: Stream, name: str) -> tuple[Stream, Stream]:
        integers, sizes = quantize_rows(y, name=f"{prefix}{name}_rows")
        if name == "up":
            blocks = parts[name].data.shape[1]
            integers = integers.repeat(blocks, name=f"{prefix}x_repeated")
            sizes = sizes.repeat(blocks, name=f"{prefix}sizes_repeated")
        pieces = RetileStreamify(parts[name].data.shape[3], "col", rank=1)
        return integers.flat_map(pieces, name=f"{prefix}{name}_pieces"), sizes

    rows = rows_of(x, "up")

    def total(state: Stream) -> Stream:
        return product(rows_of(state.accum(RetileCol(), name=f"{prefix}state_whole"), "down"), "down", "y")

    return lambda name: product(rows, name, f"{name}_projection"), total
