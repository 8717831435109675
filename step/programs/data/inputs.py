"""Input data: what a program's tensors and sources get, once it is checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from step.errors import InputError, StreamFault, expect
from step.host.nearest import among
from step.language.checker import StreamChecker
from step.language.dims import Shape, format_shape
from step.language.faults import rows_of, tuple_of
from step.language.graph import Graph, Tensor
from step.language.loops import SHORT, RegularStream
from step.language.operator import StreamType
from step.language.tokens import UNKNOWN, Token, from_nested
from step.language.types import ElementType, Selector, Tile, Tuple, is_dynamic
from step.programs.data.equality import same
from step.programs.data.given import Bits, Data, Masks, Spelled, shown
from step.programs.data.scalars import place, scalars
from step.programs.data.selectors import Entry, bind_selectors


@dataclass(frozen=True, eq=False)
class BoundInputs:
    """Data that was checked against a program's declarations; equal if it is so bit for bit."""

    tensors: Mapping[str, np.ndarray]
    streams: Mapping[str, Sequence[Token]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundInputs) and same(vars(self), vars(other))

    __hash__ = None  # type: ignore[assignment]

    def tiles(self, tensor: str, tile: tuple[int, int]) -> np.ndarray:
        """``tensor`` in tiles of ``tile`` (rows, cols): ``[tiles, rows, cols]``."""
        return cut_tiles(self.tensors[tensor], tile)


def bind_inputs(graph: Graph, inputs: Mapping[str, Any] | BoundInputs) -> BoundInputs:
    """Check ``inputs`` against the tensors and sources of ``graph``; what is bound already stays as it is.

    A tensor takes an array of its shape. A source takes an array whose leading dimensions are the stream's, nested
    sequences as deep, or a list of tokens. What is taken for an array says `step.programs.data.given`, what for a
    number `step.programs.data.scalars`, what for a selector `step.programs.data.selectors`. Raises `InputError`.
    """
    if isinstance(inputs, BoundInputs):
        return inputs
    given = as_data(inputs)
    # As declared: what else is assumed of a source is a promise, which runs check.
    sources = {node.name: stream for node in graph if (stream := node.operator.given()) is not None}
    wanted = [*graph.tensors, *sources]
    for name in sources:
        if name in graph.tensors:
            raise InputError(f"{name!r} is a tensor and a source: rename one, so that each can have its data")
    for name in given:
        if name not in wanted:
            raise InputError(f"the program has no tensor or source {name!r}; {among(str(name), wanted)}")
    for name in wanted:
        expect(name in given, f"there is no input {name!r}; the program needs {', '.join(wanted)}", InputError)
    tensors = {name: bind_tensor(tensor, given[name]) for name, tensor in graph.tensors.items()}
    streams = {name: bind_stream(given[name], stream, name) for name, stream in sources.items()}
    return BoundInputs(tensors, streams)


def as_data(inputs: Any) -> Data:
    """``inputs``, data by name, as nobody else can change it; raises `InputError` for what is something else."""
    if isinstance(inputs, BoundInputs):
        return Data.of({**inputs.tensors, **inputs.streams})
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs must be data by name, or the name of an .npz file, not {inputs!r}")
    return Data(inputs)


def bind_stream(value: Any, stream: StreamType, name: str) -> Sequence[Token]:
    """``value``, settled data, as the tokens of a stream of this type, loops where it is a long array of tiles.

    Raises `InputError`.
    """
    if isinstance(value, RegularStream) and value.values is not None:
        values = np.asarray(value.values)
        value = values.reshape(*value.extents, *values.shape[1:])
    if (long := _long(value, stream, name)) is not None:
        return long
    if isinstance(value, Token):
        raise InputError(f"input {name!r} is a single token, but must be a list of tokens that ends with Done")
    if isinstance(value, list | tuple) and any(isinstance(each, Token) for each in value):
        # As they are, but for masks that are NumPy's integers, and tuples that know their rows.
        tokens = [_token(each, stream.element, place(name, (at,))) for at, each in enumerate(value)]
    else:
        tokens = _tokens(value, stream, name)
    checker = StreamChecker(name, stream)
    try:
        for token in tokens:
            checker.see(token)
    except StreamFault as error:
        raise InputError(f"input {name!r}: {error}") from None
    expect(checker.done, f"input {name!r}: the stream does not end with Done", InputError)
    return tokens


def _long(value: Any, stream: StreamType, name: str) -> RegularStream | None:
    """A long array of tiles as loops over it; None for what is something else.

    An array fits or not as a whole, so nobody has to look at every token.
    """
    if not (isinstance(value, np.ndarray) and isinstance(stream.element, Tile) and value.size > SHORT):
        return None
    _check_shape(value, stream, name, None)
    depth = len(stream.shape)
    extents, tile = value.shape[:depth], value.shape[depth:] or (1, 1)
    if math.prod(extents) <= SHORT:
        return None
    return RegularStream(extents, scalars(value, stream.element.dtype, name).reshape(-1, *tile))


def _token(given: Any, element: ElementType, where: str) -> Token:
    if not isinstance(given, Token):
        raise InputError(f"{where} must be a token, as others are, not {shown(given)}")
    for part in ("stop", "rank"):
        level = getattr(given, part)
        if not isinstance(level, int) or isinstance(level, bool) or level < 0:
            raise InputError(f"the {part} of {where} must be an integer >= 0, not {level!r}")
    if not isinstance(given.done, bool) or (given.done and (given.has_value or given.stop or given.rank)):
        raise InputError(f"{where} must be Done alone, or a token that is not done")
    if given.value is UNKNOWN or isinstance(given.value, bool):
        raise InputError(f"{where} must have a value of the stream, not {given.value!r}")
    if isinstance(given.value, np.integer):
        return given._replace(value=int(given.value))
    return given._replace(value=_with_rows(given.value, element, where))


def _with_rows(value: Any, element: ElementType, where: str) -> Any:
    """``value``; tuples with tiles of dynamic size as they know their rows."""
    if not (isinstance(element, Tuple) and is_dynamic(element) and element.accepts(value)):
        return value
    return _tuple([_with_rows(*pair, where) for pair in zip(value, element.items, strict=True)], element, where)


def _tuple(values: Sequence[Any], element: Tuple, where: str) -> tuple[Any, ...]:
    """The tuple of ``values``; raises `InputError` where its tiles of dynamic size differ in rows."""
    *others, last = [rows_of(value) for value, item in zip(values, element.items, strict=True) if is_dynamic(item)]
    if any(each != last for each in others):
        rows = f"{', '.join(map(str, others))} and {last}"
        raise InputError(f"{where} must have tiles with one number of rows in a tuple, not with {rows}")
    return tuple_of(element.items)(values)


def _tokens(value: Any, stream: StreamType, name: str) -> list[Token]:
    spelling, nested = (type(value), value.content) if isinstance(value, Spelled) else (None, value)
    for kind, element in ((Bits, Tile), (Masks, Selector)):
        if spelling is kind and not isinstance(stream.element, element):
            spelled = kind.__name__.lower()
            raise InputError(f"input {name!r} is a stream of {stream.element}, which {spelled}(...) can not be")
    if isinstance(nested, np.ndarray):
        _check_shape(nested, stream, name, spelling)
        if isinstance(stream.element, Tile):
            nested, spelling = scalars(spelling(nested) if spelling else nested, stream.element.dtype, name), None
    entries = [(path, spelling(entry) if spelling else entry) for path, entry in _entries(nested, stream, name)]
    values = iter(bind_elements(entries, stream.element, name))
    return [each._replace(value=next(values)) if each.has_value else each for each in from_nested(nested, stream.rank)]


def _entries(nested: Any, stream: StreamType, name: str) -> Iterator[Entry]:
    """The elements in nested sequences, each behind its position."""

    def walk(part: Any, path: tuple[int, ...]) -> Iterator[Entry]:
        if len(path) == len(stream.shape):
            yield path, part
            return
        if not (isinstance(part, list | tuple) or (isinstance(part, np.ndarray) and part.ndim)):
            raise InputError(
                f"{place(name, path)} is {shown(part)}, but must be a list: dimensions are {format_shape(stream.shape)}"
            )
        for position, each in enumerate(part):
            yield from walk(each, (*path, position))

    return walk(nested, ())


def bind_elements(entries: Sequence[Entry], element: ElementType, name: str) -> list[Any]:
    """The values of a stream of ``element`` that ``entries`` stand for; raises `InputError`."""
    match element:
        case Selector():
            return bind_selectors(entries, element, name)
        case Tile():
            return [_tile(value, element, name, path) for path, value in entries]
        case Tuple(items=items):
            for path, value in entries:
                if not isinstance(value, tuple | list) or len(value) != len(items):
                    raise InputError(f"{place(name, path)} must be a tuple of {len(items)} for {element}")
            columns = [
                bind_elements([((*path, part), value[part]) for path, value in entries], item, name)
                for part, item in enumerate(items)
            ]
            values = list(zip(*columns, strict=True))
            if not is_dynamic(element):
                return values
            return [_tuple(value, element, place(name, path)) for (path, _), value in zip(entries, values, strict=True)]
    return [value for _, value in entries]


def _tile(value: Any, tile: Tile, name: str, path: tuple[int, ...]) -> np.ndarray:
    array = scalars(value, tile.dtype, name, path)
    shown = f"an array {list(array.shape)}" if array.ndim else f"the number {array}"
    if array.ndim == 0:
        array = array.reshape(1, 1)
    if not tile.accepts(array):
        raise InputError(f"{place(name, path)} must be a tile [{tile.rows}, {tile.cols}], not {shown}")
    return array


def _check_shape(array: np.ndarray, stream: StreamType, name: str, spelling: type[Spelled] | None) -> None:
    """Raise `InputError` unless the shape fits the stream: what is wrong is the shape, and no position."""
    depth, shape = len(stream.shape), format_shape(stream.shape)[:-1]
    match stream.element:
        case Tile(rows=rows, cols=cols) as tile:
            inner = array.shape[depth:]
            scalar = inner == () and tile.elements == 1
            if array.ndim < depth or not (scalar or (len(inner) == 2 and _fits(inner, (rows, cols)))):
                raise InputError(f"input {name!r} must have shape {shape}, {rows}, {cols}], not {list(array.shape)}")
        case Selector(targets=targets):
            hot = array.dtype == np.bool_ and array.ndim == depth + 1
            several = array.ndim == depth + 1 and spelling is None
            indices = (array.dtype.kind in "iu" or not array.size) and (array.ndim == depth or several)
            if not (hot or indices):
                raise InputError(
                    f"input {name!r} must be integers {shape}] or {shape}, k], or booleans {shape}, {targets}], "
                    f"not {array.dtype} {list(array.shape)}"
                )
        case element:
            raise InputError(f"input {name!r}: a stream of {element} can not be given as an array")
    if not _fits(array.shape[:depth], stream.shape):
        raise InputError(f"input {name!r} must have the dimensions {shape}], not {list(array.shape[:depth])}")


def _fits(extents: Sequence[int], dims: Shape) -> bool:
    """Whether ``extents`` are those of the static ones of ``dims``."""
    return all(not dim.is_static or int(dim) == extent for dim, extent in zip(dims, extents, strict=True))


def bind_tensor(tensor: Tensor, value: Any) -> np.ndarray:
    """``value`` as an array of the tensor's shape and type; raises `InputError`."""
    if isinstance(value, Masks):
        raise InputError(f"input {tensor.name!r} is a tensor of {tensor.dtype}, which masks(...) can not be")
    array = scalars(value, tensor.dtype, tensor.name)
    if array.shape != tensor.shape:
        raise InputError(f"input {tensor.name!r} must have shape {list(tensor.shape)}, not {list(array.shape)}")
    return array


def cut_tiles(array: np.ndarray, tile: tuple[int, int]) -> np.ndarray:
    """``array`` cut into tiles of its last two dimensions: ``[tiles, rows, cols]``, row-major over the tiled tensor."""
    rows, cols = tile
    *outer, height, width = array.shape
    count = int(np.prod(outer, dtype=int))
    split = array.reshape(count, height // rows, rows, width // cols, cols)
    return split.transpose(0, 1, 3, 2, 4).reshape(-1, rows, cols)


def join_tiles(tiles: np.ndarray) -> np.ndarray:
    """The array ``[.., height, width]`` that was cut into ``tiles`` ``[.., down, across, rows, cols]``."""
    *outer, down, across, rows, cols = tiles.shape
    return tiles.swapaxes(-3, -2).reshape(*outer, down * rows, across * cols)
