"""Several sets of a program's data for firmware: what it writes, and what has to come out, row-major."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cosim.board.tables import StreamTable, Tables, TensorTable
from hw.dma.images import entries
from hw.links.packing import control_bits
from step.language.faults import rows_of
from step.language.tokens import Token, to_nested
from step.language.types import ElementType, Selector, Tuple
from step.lowering.dma import LENGTH_BYTES
from step.programs.data.inputs import BoundInputs

ALIGNED = 8


@dataclass(frozen=True)
class Array:
    """Values of the tensor or stream with this ``number`` in the tables, and the lengths of a stream."""

    number: int
    values: bytes
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Batch:
    """``tensors`` and ``sources`` are written before a run, ``stored`` and ``sinks`` are there after it."""

    tensors: tuple[Array, ...]
    sources: tuple[Array, ...]
    stored: tuple[Array, ...]
    sinks: tuple[Array, ...]


def batch_of(tables: Tables, data: BoundInputs, outputs: dict[str, list[Token]]) -> Batch:
    """The batch with ``data``, of which the program makes ``outputs``."""
    tensors = list(enumerate(tables.tensors))
    streams = list(enumerate(tables.streams))
    return Batch(
        tuple(Array(at, data.tensors[each.name].tobytes()) for at, each in tensors if each.access.tensor),
        tuple(_stream(at, each, data.streams[each.name]) for at, each in streams if each.stream.is_source),
        tuple(Array(at, _matrices(each, outputs[each.name])) for at, each in tensors if each.is_stored),
        tuple(_stream(at, each, outputs[each.name]) for at, each in streams if not each.stream.is_source),
    )


def _matrices(tensor: TensorTable, tokens: Sequence[Token]) -> bytes:
    """Tiles one after the other as the matrices that they are parts of."""
    tile = tensor.access.tile
    rows, columns = tile.shape
    tiles = np.array([each.value for each in tokens if each.has_value], tile.dtype.numpy)
    parts = tiles.reshape(-1, tensor.height // rows, tensor.width // columns, rows, columns)
    return parts.transpose(0, 1, 3, 2, 4).tobytes()


def _stream(number: int, table: StreamTable, tokens: Sequence[Token]) -> Array:
    """The elements of a stream, and its lengths as the C driver wants or gives them: each where it begins."""
    plan, values, lengths = table.stream.plan, bytearray(), list[int]()
    for entry, extent in entries(to_nested(tokens, len(plan.extents) - 1), plan.extents):
        if isinstance(entry, list):
            lengths += [len(entry)] if extent is None else []
            continue
        lengths += [rows_of(entry)] if plan.rows else []
        if plan.word_bytes:
            values += _scalars(entry, table.element)
    return Array(number, bytes(values), tuple(lengths))


def _scalars(value: object, element: ElementType) -> bytes:
    """The scalars of a value; a selector has a byte for each target."""
    if isinstance(element, Tuple):
        assert isinstance(value, tuple)
        return b"".join(_scalars(*pair) for pair in zip(value, element.items, strict=True))
    if isinstance(element, Selector):
        mask = control_bits(value)
        return bytes(mask >> target & 1 for target in range(element.targets))
    assert isinstance(value, np.ndarray)
    return value.tobytes()


@dataclass
class _Arrays:
    """Bytes one after the other, and where each piece is."""

    data: bytearray = field(default_factory=bytearray)

    def place(self, content: bytes) -> int:
        """The place of ``content``, which is entered."""
        self.data += bytes(-len(self.data) % ALIGNED)
        at = len(self.data)
        self.data += content
        return at

    def entry(self, array: Array) -> str:
        """The C of ``array``."""
        values = self.place(array.values)
        lengths = self.place(np.array(array.lengths, "<u4").tobytes())
        words = f"(const uint32_t *)(batch_data + {lengths:#x})"
        return f"{{{array.number}u, batch_data + {values:#x}, {len(array.values)}u, {words}, {len(array.lengths)}u}}"


def results_bytes(batches: Sequence[Batch]) -> int:
    """Bytes of the largest result with its lengths, in whole words."""
    results = [each for batch in batches for each in (*batch.stored, *batch.sinks)]
    return max(LENGTH_BYTES * (-(-len(each.values) // LENGTH_BYTES) + len(each.lengths)) for each in results)


def batches_source(tables: Tables, batches: Sequence[Batch], image_bytes: int) -> tuple[str, bytes]:
    """``batches.c`` (`batch.h`), and ``batches.bin`` with the arrays of all."""
    arrays, name, rows = _Arrays(), tables.name, list[str]()
    lines = [f'#include "{name}.h"', "", '#include "batch.h"', "", "extern const uint8_t batch_data[];", ""]
    lines += [f"const step_design *const design = &{name};", f"step_region regions[{name.upper()}_IMAGES];"]
    words = results_bytes(batches) // LENGTH_BYTES
    lines += [f"const size_t image_bytes = {image_bytes:#x};", f"uint32_t results[{words}];", ""]
    for at, batch in enumerate(batches):
        kinds = {"tensors": batch.tensors, "sources": batch.sources, "stored": batch.stored, "sinks": batch.sinks}
        for kind, each in kinds.items():
            if each:
                lines += [f"static const batch_array {kind}{at}[] = {{", *(f"    {arrays.entry(one)}," for one in each)]
                lines += ["};", ""]
        pointers = [f"{kind}{at}" if each else "NULL" for kind, each in kinds.items()]
        rows.append(f"    {{{', '.join([*pointers, *(f'{len(each)}u' for each in kinds.values())])}}},")
    lines += ["const batch batches[] = {", *rows, "};", f"const unsigned batch_count = {len(batches)}u;"]
    return "\n".join(lines) + "\n", bytes(arrays.data)
