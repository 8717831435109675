"""Input data: from arrays to the tiles and tokens that a program reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from step.errors import InputError, StreamFault
from step.language.checker import StreamChecker
from step.language.dims import format_shape
from step.language.graph import Graph, Node, Tensor
from step.language.operator import StreamType
from step.language.tokens import Token, from_nested
from step.language.types import ElementType, Selector, Tile


def cut_tiles(array: np.ndarray, tile: tuple[int, int]) -> np.ndarray:
    """``array`` cut into tiles of its last two dimensions: ``[tiles, rows, cols]``, row-major over the tiled tensor."""
    rows, cols = tile
    *outer, height, width = array.shape
    count = int(np.prod(outer, dtype=int))
    split = array.reshape(count, height // rows, rows, width // cols, cols)
    return split.transpose(0, 1, 3, 2, 4).reshape(-1, rows, cols)


@dataclass(frozen=True)
class BoundInputs:
    """Data that was checked against a program's declarations."""

    tensors: Mapping[str, np.ndarray]
    streams: Mapping[str, list[Token]]

    def tiles(self, node: Node) -> np.ndarray:
        """The tiles that the load at ``node`` reads."""
        access = node.operator.reads(node)
        assert access is not None and access.tensor is not None
        return cut_tiles(self.tensors[access.tensor], access.tile.shape)


def bind_inputs(graph: Graph, inputs: Mapping[str, Any] | BoundInputs) -> BoundInputs:
    """Check ``inputs`` against the tensors and sources of ``graph``; what is bound already stays as it is.

    A tensor takes an array of its shape. A source takes nested sequences, an array whose leading dimensions are the
    stream's, or a list of tokens; for selectors also target indices (see `selectors`). Raises `InputError`.
    """
    if isinstance(inputs, BoundInputs):
        return inputs
    sources = {node.name: given for node in graph if (given := node.operator.given()) is not None}
    wanted = [*graph.tensors, *sources]
    for name in wanted:
        if name not in inputs:
            raise InputError(f"there is no input {name!r}; the program needs {', '.join(wanted)}")
    for name in inputs:
        if name not in wanted:
            raise InputError(f"the program has no tensor or source {name!r}; it has {', '.join(wanted)}")
    tensors = {name: _tensor(tensor, inputs[name]) for name, tensor in graph.tensors.items()}
    streams = {name: _checked(name, source, _stream(name, source, inputs[name])) for name, source in sources.items()}
    return BoundInputs(tensors, streams)


def _checked(name: str, source: StreamType, tokens: list[Token]) -> list[Token]:
    """``tokens``, if they are a stream of the declared type."""
    checker = StreamChecker(name, source)
    try:
        for token in tokens:
            checker.see(token)
    except StreamFault as error:
        raise InputError(f"input {name!r}: {error}") from None
    if not checker.done:
        raise InputError(f"input {name!r}: the stream does not end with Done")
    return tokens


def _tensor(tensor: Tensor, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.shape != tensor.shape:
        raise InputError(f"input {tensor.name!r} must have shape {list(tensor.shape)}, not {list(array.shape)}")
    return array.astype(tensor.dtype.numpy)


def _stream(name: str, source: StreamType, value: Any) -> list[Token]:
    if isinstance(value, list) and value and isinstance(value[-1], Token):
        return value
    rank = len(source.shape) - 1
    if isinstance(value, np.ndarray):
        value = _elements(name, source, value)
        return from_nested(value, rank)
    try:
        nested = _convert(value, rank + 1, source.element)
    except (TypeError, ValueError) as error:
        raise InputError(f"input {name!r} is no stream of rank {rank} of {source.element}: {error}") from None
    return from_nested(nested, rank)


def _elements(name: str, source: StreamType, array: np.ndarray) -> Any:
    """Nested lists of elements from an array whose leading dimensions are the stream's."""
    depth = len(source.shape)
    shape = format_shape(source.shape)
    if isinstance(source.element, Selector):
        targets = source.element.targets
        if array.dtype == np.bool_ and array.ndim == depth + 1 and array.shape[-1] == targets:
            hot = array
        elif array.dtype.kind in "iu" and array.ndim in (depth, depth + 1):
            indices = array if array.ndim == depth + 1 else array[..., None]
            if indices.size and (indices.min() < 0 or indices.max() >= targets):
                bad = int(indices.max() if indices.max() >= targets else indices.min())
                raise InputError(f"input {name!r} selects target {bad}, but its targets are 0 to {targets - 1}")
            hot = np.zeros((*indices.shape[:-1], targets), np.bool_)
            np.put_along_axis(hot, indices, True, axis=-1)
        else:
            raise InputError(
                f"input {name!r} must be integers {shape} or {shape[:-1]}, k], or booleans {shape[:-1]}, {targets}], "
                f"not {array.dtype} {list(array.shape)}"
            )
        flat = [sum(1 << int(target) for target in np.flatnonzero(row)) for row in hot.reshape(-1, targets)]
        leading = hot.shape[:-1]
    elif isinstance(source.element, Tile):
        inner = tuple(int(each) for each in (source.element.rows, source.element.cols))
        scalar = inner == (1, 1) and array.ndim == depth
        if not scalar and (array.ndim != depth + 2 or array.shape[depth:] != inner):
            raise InputError(
                f"input {name!r} must have shape {shape[:-1]}, {inner[0]}, {inner[1]}], not {list(array.shape)}"
            )
        leading = array.shape[:depth]
        flat = list(array.reshape(-1, *inner).astype(source.element.dtype.numpy))
    else:
        raise InputError(f"input {name!r}: a stream of {source.element} can not be given as an array")
    for declared, extent in zip(source.shape, leading, strict=True):
        if declared.is_static and int(declared) != extent:
            raise InputError(f"input {name!r} must have the dimensions {shape}, not {list(leading)}")
    return _nested(flat, leading)


def _nested(elements: list[Any], extents: tuple[int, ...]) -> list[Any]:
    """``elements``, row-major, as nested lists of these extents."""
    if len(extents) == 1:
        return elements
    size = math.prod(extents[1:])
    return [_nested(elements[row * size : (row + 1) * size], extents[1:]) for row in range(extents[0])]


def _convert(value: Any, depth: int, element: ElementType) -> Any:
    """Nested sequences with every element made a value of ``element``."""
    if depth:
        return [_convert(each, depth - 1, element) for each in value]
    if isinstance(element, Tile):
        array = np.asarray(value).astype(element.dtype.numpy)
        value = array.reshape(1, 1) if array.ndim == 0 else array
    elif isinstance(element, Selector) and not isinstance(value, int):
        targets = [int(each) for each in value]
        if any(not 0 <= each < element.targets for each in targets):
            raise ValueError(f"targets are 0 to {element.targets - 1}, not {targets}")
        value = sum(1 << each for each in set(targets))
    if not element.accepts(value):
        raise ValueError(f"{value!r} is no {element}")
    return value
