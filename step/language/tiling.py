"""Tensors in off-chip memory, cut into tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral

import numpy as np

from step.errors import TypeMismatch
from step.language.dims import shape
from step.language.dtypes import UINT32
from step.language.faults import Fault, Violation
from step.language.graph import Graph, Node, Tensor
from step.language.operator import Access, Operator, StreamType, expect
from step.language.types import ElementType, Tile, is_dynamic


@dataclass(frozen=True)
class TiledTensor:
    """``tensor`` cut into tiles (rows, cols) of its last two dimensions, which are counted row-major."""

    tensor: Tensor
    tile: tuple[int, int]

    def check(self) -> None:
        """Raise `TypeMismatch` where the tiles do not divide the tensor."""
        rows, cols = self.tensor.shape[-2:]
        expect(
            all(each >= 1 for each in self.tile) and rows % self.tile[0] == 0 and cols % self.tile[1] == 0,
            f"tiles of {list(self.tile)} do not divide tensor {self.tensor.name!r} of shape {list(self.tensor.shape)}",
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the tensor in tiles."""
        *outer, rows, cols = self.tensor.shape
        return (*outer, rows // self.tile[0], cols // self.tile[1])

    @property
    def count(self) -> int:
        """Tiles of the tensor."""
        return prod(self.extents)

    @property
    def element(self) -> Tile:
        return Tile(self.tensor.dtype, *self.tile)

    @property
    def type(self) -> StreamType:
        """The tensor as a stream of its tiles."""
        return StreamType(self.element, shape(self.extents))

    def __str__(self) -> str:
        return f"tensor {self.tensor.name!r} has the tiles 0 to {self.count - 1}"


@dataclass(frozen=True)
class _TiledAccess(Operator):
    """Reads or writes ``tensor`` in tiles (rows, columns)."""

    tensor: Tensor
    tile: tuple[int, int]

    @property
    def tiling(self) -> TiledTensor:
        return TiledTensor(self.tensor, self.tile)

    @property
    def below(self) -> Mapping[int, int]:
        return dict.fromkeys(self.control, self.tiling.count)

    def expect_addresses(self, stream: StreamType) -> None:
        """Raise `TypeMismatch` for a ``stream`` of something else."""
        expect(stream.element == Tile(UINT32), f"an address is a {Tile(UINT32)}, not {stream.element}")

    def place(self, address: np.ndarray) -> int:
        """The tile at an ``address``; raises `Violation` where there is none."""
        place = int(address[0, 0])
        if place >= self.tiling.count:
            raise Violation(Fault.OUT_OF_RANGE)
        return place

    def fault_text(self, fault: Fault) -> str:
        return f"{super().fault_text(fault)}{f': {self.tiling}' if fault is Fault.OUT_OF_RANGE else ''}"


def rows_and_columns(tile: Sequence[int]) -> tuple[int, int]:
    """The extents of a tile; raises `TypeMismatch` for what is not two integers >= 1."""
    extents = list(tile) if isinstance(tile, Sequence | np.ndarray) else []
    if len(extents) != 2 or not all(isinstance(each, Integral) and each >= 1 for each in extents):
        raise TypeMismatch(f"a tile must be (rows, columns), two integers >= 1, not {tile!r}")
    return int(extents[0]), int(extents[1])


def fills(data: ElementType, stored: Tile) -> bool:
    """Whether ``data`` is ``stored``, or may be where its dynamic number of rows is right."""
    return data == stored or (
        isinstance(data, Tile) and is_dynamic(data) and data.with_rows(int(stored.rows)) == stored
    )


def accessed(node: Node) -> Access | None:
    """The declared tensor that ``node`` reads or writes, if it does."""
    access = node.operator.reads(node) or node.operator.writes(node)
    return access if access is not None and access.tensor is not None else None


def accesses(nodes: Iterable[Node], *, writes: bool) -> Iterator[tuple[Node, Access]]:
    """Operators of ``nodes`` that read off-chip memory, or that write it, each with its access."""
    for node in nodes:
        access = node.operator.writes(node) if writes else node.operator.reads(node)
        if access is not None:
            yield node, access


def stored(graph: Graph) -> dict[str, TiledTensor]:
    """The declared tensors that ``graph`` stores, and how they are cut."""
    written = [access for _, access in accesses(graph, writes=True)]
    return {each.tensor: TiledTensor(graph.tensors[each.tensor], each.tile.shape) for each in written if each.tensor}
