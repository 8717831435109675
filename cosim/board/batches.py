"""Several sets of a program's data for firmware: what it writes, and what has to come out, row-major."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cosim.board.constraints import TEXTS
from cosim.board.tables import StreamTable, Tables, TensorTable
from hw.dma.images import entries
from hw.links.packing import bits_of
from step.host.texts import filled
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


Batch = dict[str, list[Array]]
"""Arrays by kind: ``tensors`` and ``sources`` are written before a run, ``stored`` and ``sinks`` are there after it."""


def batch_of(tables: Tables, data: BoundInputs, outputs: dict[str, list[Token]]) -> Batch:
    """The batch with ``data``, of which the program makes ``outputs``."""
    found: Batch = {kind: [] for kind in ("tensors", "sources", "stored", "sinks")}
    for at, tensor in enumerate(tables.tensors):
        if tensor.access.tensor:
            found["tensors"].append(Array(at, data.tensors[tensor.name].tobytes()))
        if tensor.is_stored:
            found["stored"].append(Array(at, _matrices(tensor, outputs[tensor.name])))
    for at, stream in enumerate(tables.streams):
        kind, tokens = ("sources", data.streams) if stream.stream.is_source else ("sinks", outputs)
        found[kind].append(_stream(at, stream, tokens[stream.name]))
    return found


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
        mask = bits_of(value)
        return bytes(mask >> target & 1 for target in range(element.targets))
    assert isinstance(value, np.ndarray)
    return value.tobytes()


def results_bytes(batches: Sequence[Batch]) -> int:
    """Bytes of the largest result with its lengths, in whole words."""
    results = [each for batch in batches for each in (*batch["stored"], *batch["sinks"])]
    return max(LENGTH_BYTES * (-(-len(each.values) // LENGTH_BYTES) + len(each.lengths)) for each in results)


def batches_source(
    tables: Tables, batches: Sequence[Batch], image_bytes: int, texts: Mapping[str, str]
) -> tuple[str, bytes]:
    """``batches.c`` (`batch.h`), and ``batches.bin`` with the arrays of all.

    ``texts``: the symbols as which the numbers of a sink are written, by its name.
    """
    data = bytearray()

    def placed(content: bytes) -> int:
        data.extend(bytes(-len(data) % ALIGNED) + content)
        return len(data) - len(content)

    arrays = [
        {
            kind: [(each, placed(each.values), placed(np.array(each.lengths, "<u4").tobytes())) for each in those]
            for kind, those in batch.items()
        }
        for batch in batches
    ]
    words = results_bytes(batches) // LENGTH_BYTES
    numbers = {each.name: at for at, each in enumerate(tables.streams)}
    symbols = [(numbers[name], [*map(_literal, each)]) for name, each in texts.items()]
    given = {"name": tables.name, "batches": arrays, "words": words, "image_bytes": image_bytes, "texts": symbols}
    return filled(TEXTS / "batches.c.in", **given), bytes(data)


def _literal(symbol: str) -> str:
    """``symbol`` in UTF-8, as C has it."""
    return '"' + "".join(f"\\{byte:03o}" for byte in symbol.encode()) + '"'
