"""How tensors in memory become streams: parameters, inputs and caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from step import BF16, FP32, Stream
from step.errors import InputError
from step_torch.caches import Cache, captured
from step_torch.layouts import Axis, Dims, Layout, Part, Value, blocks, sizes, whole

if TYPE_CHECKING:
    from step_torch.importing import Importer


class Unsupported(Exception):
    """A node that has no lowering for what it is; the message says what."""


@dataclass(frozen=True)
class Stored:
    """A tensor in memory that nobody has read yet: a parameter or an input, of ``dims``.

    Where it is made of the tensor ``of``, ``form`` says how: it was cut, or lies in memory in another order.
    """

    name: str
    data: np.ndarray
    dims: tuple[tuple[Axis, ...], ...]
    is_parameter: bool
    of: str = ""
    form: Callable[[np.ndarray], np.ndarray] = np.asarray

    def formed(self, name: str, form: Callable[[np.ndarray], np.ndarray], dims: Dims) -> Stored:
        """What ``form`` makes of the data, with these dimensions; ``name`` tells it from others of the same tensor."""
        return Stored(
            f"{self.name}_{name}",
            form(self.data),
            dims,
            self.is_parameter,
            self.of or self.name,
            lambda data: form(self.form(data)),
        )


@dataclass
class Sources:
    """How tensors in memory become streams, for a program that goes through its nodes once."""

    importer: Importer

    def natural(self, given: Stored) -> Value:
        """All of the tensor in its own order: rows of as many as the tiling says, with all columns.

        Every reader reads it from memory again, so that nobody waits for another one: a residual needs no channel that
        holds it.
        """
        *outer, columns = given.dims
        axes = [axis for each in outer for axis in each]
        row = axes[-1] if axes else None
        size = min(self.importer.tiling.rows, row.extent) if row else 1
        if row is not None and row.extent % size:
            fitting = [each for each in range(1, row.extent) if row.extent % each == 0]
            raise InputError(
                f"axis {_dimension(given, row)} of {given.name!r} is {row.extent}, which tiles of {size} rows do not "
                f"divide: rows can be {', '.join(map(str, fitting))}"
            )
        loop, rows = blocks(row, size)
        layout = Layout((*map(_loop, axes[:-1]), *loop), rows, whole(columns[0] if columns else None))
        return self.read(given, layout)

    def read(self, given: Stored, wanted: Layout) -> Value:
        """The tensor in the layout ``wanted``: read so from memory, or from a buffer where it stays on chip."""
        at, graph, tile = self.importer, self.importer.graph, wanted.tile
        tensor = self.tensor(given)
        extents, strides = list(wanted.extents), self.strides(given, wanted)
        count = tensor.shape[0] * tensor.shape[1] // prod(tile)
        name = f"{at.name('of')}_{given.name}"
        if given.is_parameter and at.tiling.held and prod(extents) > count:
            grid = (tensor.shape[0] // tile[0], tensor.shape[1] // tile[1])
            loaded = graph.load(tensor, tile=tile, name=f"load_{name}", out=grid)
            held = loaded.bufferize(rank=2, name=f"held_{name}")
            stream = held.streamify(out=extents or [1], stride=strides or [0], name=f"again_{name}")
        else:
            stream = graph.load(tensor, tile=tile, out=extents or [1], stride=strides or [0], name=f"load_{name}")
        if not extents:
            stream = stream.flatten(0, 1, name=f"one_{name}")
        return Value(stream, given.dims, wanted, stream.element.tiles[0].dtype)

    def embedded(self, table: Stored, numbers: Stored) -> Stream:
        """Rows of ``table`` by their ``numbers``, an input."""
        raise Unsupported("the host looks rows up by their numbers; only a whole language model does it itself")

    def cache(self, keys: Stored, values: Stored, prefix: str) -> Cache:
        """The caches that these inputs are, for attention whose names begin with ``prefix``."""
        return captured(self.importer, keys, values, prefix)

    def of_layer(self, number: Stream, count: int) -> Stream:
        """The ``number`` of one of ``count`` parts of a parameter, among all that its tensor has."""
        return number

    def tensor(self, given: Stored) -> Any:
        """The tensor of the program, of two dimensions, with its data."""
        graph, at = self.importer.graph, self.importer
        if given.name not in graph.tensors:
            width = given.data.shape[-1] if given.data.ndim else 1
            data = given.data.reshape(-1, width)
            dtype = BF16 if data.dtype == BF16.numpy else FP32
            graph.tensor(given.name, data.shape, dtype)
            at.inputs[given.name] = data
        return graph.tensors[given.name]

    def strides(self, given: Stored, wanted: Layout) -> list[int]:
        """In tiles, of every loop of ``wanted`` over the tensor."""
        *outer, columns = given.dims
        rows, cols = wanted.tile
        width = sizes([columns])[0] // cols
        step: dict[Axis, int] = {}
        below = 1
        for axis in reversed([axis for each in outer for axis in each]):
            step[axis] = below
            below *= axis.extent
        strides = []
        for part in wanted.loops:
            if part.axis in step:
                strides.append(part.step * step[part.axis] // rows * width)
            else:
                strides.append(part.step // cols if part.axis in columns else 0)
        return strides


def _loop(axis: Axis) -> Part:
    return Part(axis, axis.extent)


def _dimension(given: Stored, axis: Axis) -> int:
    return next(at for at, axes in enumerate(given.dims) if axis in axes)
