"""Products of integers of a layer, those of the same rows as one, and the tiles of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from step.functions.dequantize import Bits, packed, unpacked
from step_torch.layouts import Dims, TensorAxis, Value, sizes
from step_torch.nodes import TorchNode
from step_torch.pieces import kept
from step_torch.sources import Stored
from step_torch.views import in_shape

if TYPE_CHECKING:
    from step_torch.importing import Importer

OP = "step.quantized_linear.default"


def tiles_of(data: np.ndarray, bits: int, groups: int, size: int, blocks: int, own: slice = slice(None)) -> np.ndarray:
    """``data`` [.., columns, depth] in so many ``bits`` as tiles [.., blocks, groups, depth of a group, columns].

    A tile has ``size`` columns; the last one is there again where blocks have more. ``own``: groups that are wanted.
    """
    apart = bits == 4 and data.shape[-1] % groups > 0  # groups begin amid a byte
    pieces = (unpacked(data) if apart else data).reshape(*data.shape[:-1], groups, -1)[..., own, :]
    pieces = unpacked(pieces) if bits == 4 and not apart else pieces
    *outer, columns, count, depth = pieces.shape
    ends = [(0, 0)] * len(outer) + [(0, blocks * size - columns), (0, 0), (0, 0)]
    tiles = np.moveaxis(np.pad(pieces, ends, "edge").reshape(*outer, blocks, size, count, depth), -3, -1)
    return packed(tiles) if bits == 4 else tiles


@dataclass(frozen=True)
class SharedProduct:
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


def of_same_rows(nodes: Sequence[TorchNode]) -> list[list[TorchNode]]:
    """Products of integers among ``nodes``, those of the same rows together."""
    return [[*each] for _, each in groupby((each for each in nodes if each.op == OP), key=lambda each: each.args[0])]


@dataclass(frozen=True, eq=False)
class Joined:
    """``shares``, products of the same rows, as one: number ``place`` of a layer, in tiles of ``size`` columns, which
    so many ``units`` take by turns."""

    place: int
    shares: Sequence[SharedProduct]
    size: int
    units: int

    @property
    def groups(self) -> int:
        """Tiles of a block of columns."""
        return self.shares[0].groups

    @property
    def blocks(self) -> int:
        """Blocks of columns, whose tiles the units share alike; the last ones may be padding."""
        alike = self.units // gcd(self.units, self.groups)
        return -(-sum(each.columns for each in self.shares) // (self.size * alike)) * alike

    @property
    def tiles(self) -> int:
        """Tiles of all blocks."""
        return self.blocks * self.groups

    def formed(self, data: Sequence[np.ndarray], bits: Bits) -> np.ndarray:
        """``data`` of all of them, [columns, depth] in so many ``bits``, as tiles [tiles, depth, columns]."""
        tiles = tiles_of(np.concatenate(data), bits, self.groups, self.size, self.blocks)
        return tiles.reshape(self.tiles, *tiles.shape[2:])
