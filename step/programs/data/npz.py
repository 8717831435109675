"""Input data as .npz files; docs/inputs.md describes the format.

A tensor, or a stream whose tensors all have the same extents, is one array ``NAME``. Any other stream is
``NAME.values``, an entry per element, and ``NAME.extents.K`` for every dimension D_K but the outermost one: its extent
in every tensor. Behind the name of an array, ``.bits`` says that it has bit patterns; ``.tiles`` has rows and columns
of dynamic tiles, whose scalars then follow each other; numbers are the items of tuples.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from step.errors import FormatError, InputError, expect
from step.host.files import write_atomically
from step.host.paths import check_readable, named_file
from step.language.dtypes import OF_ML_DTYPES
from step.language.graph import Graph
from step.language.operator import StreamType
from step.language.tokens import Token, extents_of, to_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step.programs.data.given import Bits
from step.programs.data.inputs import BoundInputs

Arrays = dict[str, np.ndarray]


def write_arrays(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write ``arrays`` to ``path``, as a whole or not at all."""
    write_atomically(named_file(path, "arrays"), array_bytes(arrays))


def array_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, SyntaxError, TokenError,
    OverflowError, MemoryError,
)  # fmt: skip
"""What NumPy and its parts raise for files of which bytes are lost or changed."""


def read_arrays(path: Path | str) -> Arrays:
    """The arrays in an .npz file; raises `FormatError` where it can not be read."""
    path = named_file(path, "arrays")
    archive = _load(path, "npz", f"np.savez({str(path)!r}, NAME=array)")
    if isinstance(archive, np.ndarray):
        raise FormatError(f"{path} is a single array without a name (.npy); save it by np.savez(path, NAME=array)")
    with archive:
        return {key: _read_array(path, archive, key) for key in archive}


def read_array(path: Path | str) -> np.ndarray:
    """The array in an .npy file; raises `FormatError` where it can not be read."""
    path = named_file(path, "an array")
    array = _load(path, "npy", f"np.save({str(path)!r}, array)")
    if not isinstance(array, np.ndarray):
        array.close()
        raise FormatError(f"{path} must be an .npy file, not an archive of arrays; np.save(path, array) writes one")
    return array


def _load(path: Path, kind: str, writer: str) -> Any:
    """Content of a file, by NumPy, that should be of the ``kind`` that ``writer`` writes."""
    check_readable(path)
    try:
        return np.load(path, allow_pickle=False)
    except PermissionError as error:
        raise FormatError(f"{path} can not be read: {error.strerror}") from None
    except (*_DAMAGED, ValueError) as error:
        if "Object arrays" in str(error):
            raise FormatError(f"{path} has Python objects; save an array of numbers") from None
        if isinstance(error, _DAMAGED) or path.read_bytes().startswith(np.lib.format.MAGIC_PREFIX):
            raise FormatError(f"{path} is damaged: it is no whole .{kind} file") from None
        raise FormatError(f"{path} is no .{kind} file; {writer} writes one") from None


def _read_array(path: Path, archive: np.lib.npyio.NpzFile, key: str) -> np.ndarray:
    try:
        array = archive[key]
    except (*_DAMAGED, ValueError) as error:
        if "Object arrays" in str(error):
            raise FormatError(f"{path}: {key!r} has Python objects; save an array of numbers") from None
        raise FormatError(f"{path} is damaged: {key!r} can not be read") from None
    expect(isinstance(array, np.ndarray), f"{path}: {key!r} is no array", FormatError)
    return array


# -- writing --------------------------------------------------------------------------------------------------------


def arrays_of(graph: Graph, inputs: BoundInputs, *, readable: bool = False) -> Arrays:
    """``inputs`` as the arrays of a file; raises `InputError` for streams of buffers.

    Formats that NumPy does not have are bit patterns, or in a ``readable`` file, for people to edit, float32 numbers.
    """
    spell = partial(_spelled, readable)
    arrays: Arrays = {}
    for name, array in inputs.tensors.items():
        arrays |= spell(name, array)
    for name, tokens in inputs.streams.items():
        arrays |= _stream_arrays(name, tokens, graph.nodes[name].output_types[0], spell)
    return arrays


Spell = Callable[[str, np.ndarray], Arrays]
"""How an array is kept: its name in the file, and its content."""


def _spelled(readable: bool, name: str, array: np.ndarray) -> Arrays:
    if array.dtype not in OF_ML_DTYPES:
        return {name: array}
    return {name: array.astype(np.float32)} if readable else {f"{name}.bits": array.view(f"u{array.itemsize}")}


def _stream_arrays(name: str, tokens: Sequence[Token], stream: StreamType, spell: Spell) -> Arrays:
    values = [token.value for token in tokens if token.has_value]
    extents = extents_of(to_nested(tokens, stream.rank), stream.rank)  # of all dimensions but the outermost one
    arrays = _columns(f"{name}.values", values, stream.element, name, spell)
    regular = len(arrays) == 1 and all(len(set(each)) == 1 for each in extents)
    if regular and not isinstance(stream.element, Tuple):
        ((key, array),) = arrays.items()
        leading = (len(extents[0]) if extents else len(values), *(each[0] for each in extents))
        return {key.replace(".values", "", 1): array.reshape(*leading, *array.shape[1:])}
    for level, each in enumerate(reversed(extents)):
        arrays[f"{name}.extents.{level}"] = np.array(each, np.int64)
    return arrays


def _columns(key: str, values: Sequence[Any], element: ElementType, name: str, spell: Spell) -> Arrays:
    """One entry per value."""
    match element:
        case Tile(dtype=dtype) if element.is_static:
            return spell(key, np.array(values, dtype.numpy).reshape(-1, *element.shape))
        case Tile(dtype=dtype):
            flat = np.concatenate([np.zeros(0, dtype.numpy), *(each.reshape(-1) for each in values)])
            shapes = np.array([each.shape for each in values], np.int64).reshape(-1, 2)
            return {**spell(key, flat), f"{key}.tiles": shapes}
        case Selector():
            return {key: element.multi_hot(values)}
        case Tuple(items=items):
            arrays: Arrays = {}
            for part, item in enumerate(items):
                arrays |= _columns(f"{key}.{part}", [each[part] for each in values], item, name, spell)
            return arrays
    raise InputError(f"input {name!r}: a stream of {element} can not be saved")


# -- reading --------------------------------------------------------------------------------------------------------


def load_inputs(path: Path | str, graph: Graph) -> dict[str, Any]:
    """The input data in an .npz file, for `bind_inputs`; raises `FormatError`."""
    path = named_file(path, "input data")
    file = _NpzFile(path, read_arrays(path))
    inputs: dict[str, Any] = {}
    for node in graph.sources():
        inputs |= file.stream(node.name, node.output_types[0])
    for name in graph.tensors:
        inputs |= file.array(name)
    return inputs | file.rest(graph)


def load_arrays(path: Path) -> dict[str, Any]:
    """Arrays by name in an .npz file, and bit patterns where it has ``NAME.bits``; raises `FormatError`."""
    file, found = _NpzFile(path, read_arrays(path)), dict[str, Any]()
    for key in list(file.arrays):
        found |= file.array(key.removesuffix(".bits"))
    return found


class _NpzFile:
    """Arrays of a file, of which those that were taken are gone."""

    def __init__(self, path: Path, arrays: Arrays) -> None:
        self.path, self.arrays = path, arrays

    def array(self, name: str) -> dict[str, Any]:
        """The array under ``name`` or ``name.bits``, if there is one."""
        if name in self.arrays and f"{name}.bits" in self.arrays:
            raise FormatError(f"{self.path} has both {name!r} and '{name}.bits'; one of them must go")
        if name in self.arrays:
            return {name: self.arrays.pop(name)}
        if f"{name}.bits" in self.arrays:
            return {name: Bits(self.arrays.pop(f"{name}.bits"))}
        return {}

    def stream(self, name: str, stream: StreamType) -> dict[str, Any]:
        """The data of a source: an array, or nested lists; nothing if there is none."""
        key = f"{name}.values"
        if not any(each == key or each.startswith(f"{key}.") for each in self.arrays):
            return self.array(name)
        for other in (name, f"{name}.bits"):
            if other in self.arrays:
                raise FormatError(f"{self.path} has both {other!r} and {key!r}; one of them must go")
        values = self.column(key, stream.element)
        for level in range(stream.rank):
            values = self.rows(values, name, level)
        return {name: values}

    def rows(self, values: list[Any], name: str, level: int) -> list[Any]:
        """``values`` put into lists, whose extents the file has for the dimension ``level``."""
        key = f"{name}.extents.{level}"
        extents = self.taken(key, f"it has the extents of dimension D{level} of {name!r}")
        if extents.ndim != 1 or (extents.dtype.kind not in "iu" and extents.size) or (extents < 0).any():
            raise FormatError(f"{self.path}: {key!r} must be integers >= 0, one per tensor")
        ends = [0, *np.cumsum(extents, dtype=np.int64).tolist()]
        if ends[-1] != len(values):
            inside = f"{name}.extents.{level - 1}" if level else f"{name}.values"
            raise FormatError(f"{self.path}: {key!r} adds up to {ends[-1]}, but {inside!r} has {len(values)} entries")
        return [values[start:end] for start, end in pairwise(ends)]

    def column(self, key: str, element: ElementType) -> list[Any]:
        """The entries of ``key``, one per value."""
        if isinstance(element, Tuple):
            columns = [self.column(f"{key}.{part}", item) for part, item in enumerate(element.items)]
            if len(set(map(len, columns))) != 1:
                counts = ", ".join(str(len(each)) for each in columns)
                raise FormatError(f"{self.path}: the items of {key!r} have {counts} entries, but must have as many")
            return list(zip(*columns, strict=True))
        found = self.array(key) or {key: self.taken(key, f"it has values of {element}")}
        patterns = found[key].content if isinstance(found[key], Bits) else found[key]
        if f"{key}.tiles" in self.arrays:
            entries = self.tiles(key, patterns)
        elif patterns.ndim:
            entries = list(patterns)
        else:
            raise FormatError(f"{self.path}: {key!r} must have an entry per value, not be a single number")
        return [Bits(each) for each in entries] if isinstance(found[key], Bits) else entries

    def tiles(self, key: str, flat: np.ndarray) -> list[Any]:
        """``flat`` cut into tiles of the shapes that the file has."""
        shapes = self.arrays.pop(f"{key}.tiles")
        if shapes.ndim != 2 or shapes.shape[1] != 2 or shapes.dtype.kind not in "iu" or (shapes < 0).any():
            raise FormatError(f"{self.path}: '{key}.tiles' must be integers >= 0, rows and columns per tile")
        sizes = shapes.prod(axis=1, dtype=np.int64)
        if flat.shape != (sizes.sum(),):
            raise FormatError(f"{self.path}: '{key}.tiles' are not the shapes of the scalars in {key!r}")
        ends = np.cumsum(sizes)
        return [flat[end - size : end].reshape(shape) for shape, size, end in zip(shapes, sizes, ends, strict=True)]

    def taken(self, key: str, what: str) -> np.ndarray:
        expect(key in self.arrays, f"{self.path} needs an array {key!r}: {what}", FormatError)
        return self.arrays.pop(key)

    def rest(self, graph: Graph) -> Arrays:
        """Arrays for unknown names, which `bind_inputs` refuses."""
        for key in self.arrays:
            name, dot, _ = key.partition(".")
            known = [*graph.tensors, *(node.name for node in graph.sources())]
            if dot and name in known:
                raise FormatError(f"{self.path}: {key!r} does not belong to what the file has for {name!r}")
        return self.arrays
