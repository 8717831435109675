"""Tensors in memory as streams: parameters, inputs and caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from step import BF16, BOOL, FP32, INT8, INT32, DType, Selector, Stream, Tile
from step.errors import expect
from step.functions import RetileRow
from step_torch.caches import Cache, captured
from step_torch.layouts import AxisPart, Dims, TensorAxis, TileLayout, Value, blocks, fitting, sizes, whole

if TYPE_CHECKING:
    from step_torch.importing import Importer
    from step_torch.lowerings.shared import SharedUnits


STREAMS: dict[str, DType] = {"bfloat16": BF16, "float32": FP32, "bool": BOOL, "int64": INT32, "int32": INT32}
"""Formats of torch that streams have."""

KEPT = {**STREAMS, "int8": INT8}
"""Formats of weights in the memory of a program, besides."""


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
    is_constant: bool = False
    """Whether the import knows its numbers: it made them, a capture did, or they are integers."""

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
        return Stored(
            name, form(self.data), dims, self.is_parameter, of, lambda data: form(self.form(data)), self.is_constant
        )

    def lengthened(self, longer: Mapping[TensorAxis, TensorAxis]) -> Stored:
        """The tensor with the last of some axes again and again, up to the ends of ``longer`` ones."""
        dims = tuple(tuple(longer.get(axis, axis) for axis in axes) for axes in self.dims)
        axes = [axis for each in self.dims for axis in each]
        ends = [(0, longer.get(axis, axis).extent - axis.extent) for axis in axes]

        def form(data: np.ndarray) -> np.ndarray:
            return np.pad(data.reshape([axis.extent for axis in axes]), ends, "edge").reshape(sizes(dims))

        return self.formed(f"to_{'_'.join(str(axis.extent) for axis in longer.values())}", form, dims)

    def facing(self, wanted: TileLayout) -> Stored:
        """A parameter that lies in memory as tiles of ``wanted`` have it: their rows and columns are its last ones."""
        rows, columns = (part.axis if part and part.count > 1 else None for part in (wanted.rows, wanted.columns))
        axes = [axis for each in self.dims for axis in each]
        outer, last = self.axes
        there = (columns is None or columns in last) and (rows is None or rows in outer[-1:])
        if not self.is_parameter or there:
            return self
        order = [*(axis for axis in axes if axis not in (rows, columns)), rows, columns]
        places = [axes.index(axis) for axis in order if axis in axes]

        def form(data: np.ndarray) -> np.ndarray:
            seen = data.reshape([axis.extent for axis in axes]).transpose(places)
            return seen.reshape([axis.extent if axis else 1 for axis in order])

        return self.formed(f"by_{''.join(map(str, places))}", form, tuple((axis,) if axis else () for axis in order))


def is_parameter(given: Any) -> TypeGuard[Stored]:
    """Whether ``given`` is a parameter: a tensor in memory that no input decides."""
    return isinstance(given, Stored) and given.is_parameter


@dataclass
class Sources:
    """Tensors in memory as streams, for a program that goes through its nodes once, or for every element of
    ``reference``: all is read again then, and inputs are ``numbers`` that come with these.

    ``rows``: those of several texts or of a chunk, which torch does not know, where these are in one tile.
    """

    importer: Importer
    reference: Stream | None = None
    numbers: Mapping[str, Stream] = field(default_factory=dict)
    rows: AxisPart | None = None
    units: SharedUnits | None = None
    """Units that all products of integers share."""

    def alone(self, value: Value) -> Value:
        """``value`` with the rows of several texts one by one, if there are such: the outermost loop."""
        if self.rows is None:
            return value
        value = self.importer.joiner.rows(value, 1, "rows of several texts are apart")
        (*others, rows) = value.layout.loops
        return self.importer.joiner.reordered(value, (rows, *others), "each text has its own")

    def together(self, value: Value) -> Value:
        """The same in tiles again."""
        if self.rows is None:
            return value
        return self.importer.joiner.rows(value, self.rows.count, "rows of several texts are one tile")

    def in_rounds(self, value: Value) -> Value:
        """``value`` with the rows of a chunk as rounds of their own."""
        return value

    def for_several(self, value: Any) -> Any:
        """``value``, which several nodes read."""
        return value

    def for_rows(self, value: Value) -> Value:
        """``value``, which a tile of rows reads, for each of those that are `alone`."""
        return value

    def natural(self, given: Stored, *, ragged: bool) -> Value:
        """All of the tensor in its own order: rows of as many as the tiling says, with all columns.

        The last tile of ``ragged`` rows may have more than there are.

        Every reader reads it from memory again, so that nobody waits for another one: a residual needs no channel that
        holds it.
        """
        return self.read(given, self.natural_layout(given, ragged=ragged))

    def natural_layout(self, given: Stored, *, ragged: bool) -> TileLayout:
        """The layout of that."""
        axes, columns = given.axes
        row = axes[-1] if axes else None
        loop, rows = blocks(row, self.importer.rows(given, row, ragged=ragged) if row else 1)
        outer = (AxisPart(axis, axis.extent) for axis in axes[:-1])
        return TileLayout((*outer, *loop), rows, whole(columns[0] if columns else None))

    def read(self, given: Stored, wanted: TileLayout) -> Value:
        """The tensor in the layout ``wanted``; the last of a ragged axis is there again and again."""
        supported(self.lies_in(given, wanted), f"{given.name!r} does not lie in memory as {wanted}")
        axes = [axis for each in given.dims for axis in each if wanted.reach(axis) > axis.extent]
        if not (given.is_parameter and axes):
            return self.loaded(given, wanted)
        longer = {axis: TensorAxis(axis.name, wanted.reach(axis)) for axis in axes}
        value = self.loaded(given.lengthened(longer), wanted.renamed(longer))
        return replace(value, dims=given.dims, layout=wanted)

    def lies_in(self, given: Stored, wanted: TileLayout) -> bool:
        """Whether a parameter, or an input with its rows in memory, has tiles of ``wanted`` to their ends."""
        ends = {axis: wanted.reach(axis) for axes in given.dims for axis in axes if wanted.reach(axis) > axis.extent}
        _, longer = self.rows_in_memory(given)
        own = dict.fromkeys(given.axes[0][-1:], longer)
        return given.is_parameter or (longer % wanted.tile[0] == 0 and ends.items() <= own.items())

    def _is_held(self, given: Stored, reads: int, tiles: int) -> bool:
        """Whether a weight of so many ``tiles``, of which as many are read, stays on chip."""
        tiling = self.importer.tiling
        if not (given.is_parameter and tiling.held and reads > tiles):
            return False
        size = given.data.size * KEPT.get(given.data.dtype.name, FP32).bytes
        if size > tiling.on_chip:
            large = f"{given.name} has {size:,} bytes, more than the {tiling.on_chip:,} that stay on chip"
            self.importer.notes[f"{large}: it is read for every tile of rows"] = None
        return size <= tiling.on_chip

    def rows_in_memory(self, given: Stored) -> tuple[int, int]:
        """Rows that an input has, and that it has in memory, where the last tile of them is whole; 0 of others."""
        if given.is_parameter or given.data.ndim < 2:
            return 0, 0
        rows = given.data.shape[-2]
        size = fitting(rows, self.importer.tiling.most_rows)
        return rows, -(-rows // size) * size

    def loaded(self, given: Stored, wanted: TileLayout) -> Value:
        """The tensor in the layout ``wanted``: read so from memory, or from a buffer where it stays on chip."""
        graph, tile, once = self.importer.graph, wanted.tile, self.reference is None
        supported(once or given.is_parameter, f"the input {given.name!r} is read by something else than an embedding")
        tensor, name = self.tensor(given), self.names(given)
        extents, strides = list(wanted.extents), self.strides(given, wanted)
        grid = (tensor.shape[0] // tile[0], tensor.shape[1] // tile[1])
        if once and self._is_held(given, prod(extents), prod(grid)):
            held = graph.load(tensor, tile=tile, name=name("load"), out=grid).bufferize(rank=2, name=name("held"))
            stream = held.streamify(out=extents or [1], stride=strides or [0], name=name("again"))
        else:
            loops: Any = {"out": extents or [1], "stride": strides or [0], "reference": self.reference}
            stream = graph.load(tensor, tile=tile, **loops, name=name("load"))
        if not extents:
            stream = stream.flatten(0, 1, name=name("one"))
        return Value(stream, given.dims, wanted, stream.element.tiles[0].dtype)

    def played(self, element: Tile | Selector, values: Sequence[Any], count: int, name: str) -> Stream:
        """``values`` again and again in one loop, ``count`` of them."""
        graph = self.importer.graph
        if self.reference is None:
            return graph.generate(element, values, [count], name=name)
        each = graph.generate(element, values, [count], reference=self.reference, name=f"{name}_each")
        return each.flatten(0, 1, name=name)

    def embedded(self, table: Stored, numbers: Stored) -> Stream | None:
        """Rows of ``table`` by their ``numbers``, where these come with the rows of a language model."""
        if numbers.name not in self.numbers:
            return None
        number, tile = self.numbers[numbers.name], (1, table.width)
        number = self.of_layer(number, table, table.data.size // table.width)
        stream = number.load_random(self.tensor(table), tile=tile, name=self.importer.name())
        return stream if self.rows is None else stream.accum(RetileRow(), name=self.importer.name("rows"))

    def cache(self, keys: Stored, values: Stored, prefix: str, window: int | None) -> Cache:
        """The caches that these inputs are, for attention of a ``window`` whose names begin with ``prefix``."""
        return captured(self.importer, keys, values, prefix, window)

    def of_layer(self, number: Stream, given: Stored, count: int) -> Stream:
        """The ``number`` of one of ``count`` parts of a parameter, among all that its tensor has."""
        return number

    def names(self, given: Stored) -> Callable[[str], str]:
        """Names for the operators that read ``given`` for this node: no two reads have one."""
        at, stem = self.importer, f"{self.importer.name('of')}_{given.name}"
        return lambda kind: at.free(f"{kind}_{stem}")

    def tensor(self, given: Stored) -> Any:
        """The tensor of the program, of two dimensions, with its data."""
        rows, longer = self.rows_in_memory(given)
        if longer == rows:
            return self.declared(given, [given.data])
        ends = [(0, (longer - rows) * (axis == given.data.ndim - 2)) for axis in range(given.data.ndim)]
        return self.declared(given, [np.pad(given.data, ends, "edge")])

    def declared(self, given: Stored, parts: Sequence[np.ndarray]) -> Any:
        """The tensor that has ``parts`` one behind the other; raises `Unsupported` for formats that no stream has."""
        at, key = self.importer, (given.of, given.name, given.data.shape)
        if key not in at.tensors:
            if not given.is_constant:
                at.check_format(given)
            supported(given.data.size, f"{given.name!r} has no scalars")
            rows = [each.reshape(-1, given.width) for each in parts]
            data = rows[0] if len(rows) == 1 else np.concatenate(rows)
            name = at.free(given.name) if given.is_parameter else given.name
            kept = KEPT.get(data.dtype.name, FP32)
            at.tensors[key] = at.graph.tensor(name, data.shape, kept)
            at.inputs[name] = data.astype(kept.numpy)
            is_same = kept is not INT32 or (at.inputs[name] == data).all()
            supported(is_same, f"{name!r} has integers of more than 32 bits")
        return at.tensors[key]

    def strides(self, given: Stored, wanted: TileLayout) -> list[int]:
        """In tiles, of every loop of ``wanted`` over the tensor; raises `Unsupported` where it has no such tiles.

        Rows of a tile lie below each other in memory, and columns side by side.
        """
        outer, columns = given.axes
        rows, cols = wanted.tile
        width = given.width // cols
        real, longer = self.rows_in_memory(given)
        step, below = dict[TensorAxis, int](), 1
        for axis in reversed(outer):
            step[axis] = below
            below *= axis.extent
            below = longer if below == real else below
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
