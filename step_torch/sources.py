"""Tensors in memory as streams: parameters, inputs and caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from step import BF16, FP32, Stream
from step.errors import expect
from step_torch.caches import Cache, captured
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, blocks, whole

if TYPE_CHECKING:
    from step_torch.importing import Importer


class Unsupported(Exception):
    """A node that has no lowering for what it is; the message says what."""


supported = partial(expect, error=Unsupported)
"""Raises `Unsupported` with a message unless a condition holds."""


@dataclass(frozen=True)
class Stored:
    """A tensor in memory that nobody has read yet: a parameter or an input, of ``dims``.

    Where it is made of the tensor ``of``, ``form`` says how: it was cut, or lies in memory in another order.
    """

    name: str
    data: np.ndarray
    dims: tuple[tuple[TensorAxis, ...], ...]
    is_parameter: bool
    of: str = ""
    form: Callable[[np.ndarray], np.ndarray] = np.asarray

    @property
    def axes(self) -> tuple[list[TensorAxis], tuple[TensorAxis, ...]]:
        """The axes of all dimensions but the last one, in the order of memory, and those of the last one."""
        *outer, columns = self.dims or ((),)
        return [axis for each in outer for axis in each], columns

    @property
    def width(self) -> int:
        """Scalars of the last dimension, which lie side by side."""
        return self.data.shape[-1] if self.data.ndim else 1

    def formed(self, name: str, form: Callable[[np.ndarray], np.ndarray], dims: Dims) -> Stored:
        """The tensor that ``form`` makes of the data; ``name`` tells it from others of the same tensor."""
        name, of = f"{self.name}_{name}", self.of or self.name
        return Stored(name, form(self.data), dims, self.is_parameter, of, lambda data: form(self.form(data)))


@dataclass
class Sources:
    """Tensors in memory as streams, for a program that goes through its nodes once."""

    importer: Importer

    def natural(self, given: Stored) -> Value:
        """All of the tensor in its own order: rows of as many as the tiling says, with all columns.

        Every reader reads it from memory again, so that nobody waits for another one: a residual needs no channel that
        holds it.
        """
        axes, columns = given.axes
        row = axes[-1] if axes else None
        loop, rows = blocks(row, self.importer.rows(given, row) if row else 1)
        outer = (AxisPart(axis, axis.extent) for axis in axes[:-1])
        return self.read(given, TileLayout((*outer, *loop), rows, whole(columns[0] if columns else None)))

    def read(self, given: Stored, wanted: TileLayout) -> Value:
        """The tensor in the layout ``wanted``: read so from memory, or from a buffer where it stays on chip."""
        at, graph, tile = self.importer, self.importer.graph, wanted.tile
        tensor, name = self.tensor(given), self.names(given)
        extents, strides = list(wanted.extents), self.strides(given, wanted)
        grid = (tensor.shape[0] // tile[0], tensor.shape[1] // tile[1])
        if given.is_parameter and at.tiling.held and prod(extents) > prod(grid):
            loaded = graph.load(tensor, tile=tile, name=name("load"), out=grid)
            held = loaded.bufferize(rank=2, name=name("held"))
            stream = held.streamify(out=extents or [1], stride=strides or [0], name=name("again"))
        else:
            stream = graph.load(tensor, tile=tile, out=extents or [1], stride=strides or [0], name=name("load"))
        if not extents:
            stream = stream.flatten(0, 1, name=name("one"))
        return Value(stream, given.dims, wanted, stream.element.tiles[0].dtype)

    def embedded(self, table: Stored, numbers: Stored) -> Stream:
        """Rows of ``table`` by their ``numbers``, an input."""
        raise Unsupported("the host looks rows up by their numbers; only a whole language model does it itself")

    def cache(self, keys: Stored, values: Stored, prefix: str, window: int | None) -> Cache:
        """The caches that these inputs are, for attention of a ``window`` whose names begin with ``prefix``."""
        return captured(self.importer, keys, values, prefix, window)

    def of_layer(self, number: Stream, count: int) -> Stream:
        """The ``number`` of one of ``count`` parts of a parameter, among all that its tensor has."""
        return number

    def names(self, given: Stored) -> Callable[[str], str]:
        """Names for the operators that read ``given`` for this node: no two reads have one."""
        at, stem = self.importer, f"{self.importer.name('of')}_{given.name}"
        return lambda kind: at.free(f"{kind}_{stem}")

    def tensor(self, given: Stored) -> Any:
        """The tensor of the program, of two dimensions, with its data."""
        return self.declared(given, [given.data])

    def declared(self, given: Stored, parts: Sequence[np.ndarray]) -> Any:
        """The tensor that has ``parts`` one behind the other; raises `Unsupported` for formats that no stream has."""
        at, key = self.importer, (given.of, given.name, given.data.shape)
        if key not in at.tensors:
            at.check_format(given)
            rows = [each.reshape(-1, given.width) for each in parts]
            data = rows[0] if len(rows) == 1 else np.concatenate(rows)
            name = at.free(given.name) if given.is_parameter else given.name
            at.tensors[key] = at.graph.tensor(name, data.shape, BF16 if data.dtype == BF16.numpy else FP32)
            at.inputs[name] = data
        return at.tensors[key]

    def strides(self, given: Stored, wanted: TileLayout) -> list[int]:
        """In tiles, of every loop of ``wanted`` over the tensor; raises `Unsupported` where it has no such tiles.

        Rows of a tile lie below each other in memory, and columns side by side.
        """
        outer, columns = given.axes
        rows, cols = wanted.tile
        width = given.width // cols
        step, below = dict[TensorAxis, int](), 1
        for axis in reversed(outer):
            step[axis] = below
            below *= axis.extent
        for part, inner in ((wanted.rows, outer[-1:]), (wanted.columns, columns)):
            if part is not None and part.count > 1 and (part.axis not in inner or part.step > 1):
                raise Unsupported(f"{given.name!r} does not lie in memory as {wanted}")
        supported(not given.width % cols, f"tiles of {cols} columns do not divide the {given.width} of {given.name!r}")
        strides = []
        for part in wanted.loops:
            if part.axis in step:
                strides.append(part.step * step[part.axis] // rows * width)
            else:
                strides.append(part.step // cols if part.axis in columns else 0)
        return strides
