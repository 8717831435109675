"""Streams as they lie in memory for the DMA (`step.lowering.dma`), and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hw.links.layout import TokenFormat
from hw.links.packing import pack_words, unpack_words
from step.errors import InputError
from step.language.faults import rows_of
from step.language.tokens import Token, from_nested, to_nested
from step.language.types import ElementType
from step.lowering.dma import LENGTH_BYTES, MOST_REQUESTS, StreamPlan


def source_images(
    tokens: Sequence[Token], element: ElementType, plan: StreamPlan, format: TokenFormat
) -> dict[str, bytes]:
    """The ``values`` and, where there is one, the ``list`` of a stream.

    ``tokens`` are those that `step.programs.data.inputs.bind_inputs` makes of arrays and nested lists, which refuses
    what does not fit the stream. Raises `InputError` for more than DMA counts.
    """
    values, lengths = bytearray(), list[int]()
    for entry, extent in entries(to_nested(tokens, format.rank), plan.extents):
        if not isinstance(entry, list):
            values += _value(entry, element, plan, format)
            lengths += [rows_of(entry)] if plan.rows else []
        elif extent is None:
            lengths.append(len(entry))
    values += bytes(-len(values) % plan.request_bytes)
    found = {"values": bytes(values)}
    if plan.listed:
        requests = -(-(2 + len(lengths)) * LENGTH_BYTES // plan.request_bytes)
        words = np.array([requests, len(values) // plan.request_bytes, *lengths], "<u4").tobytes()
        found["list"] = words + bytes(-len(words) % plan.request_bytes)
    for part, content in found.items():
        plan.check(f"source {plan.name!r}", part, len(content) // plan.request_bytes, MOST_REQUESTS, InputError)
    return found


def sink_tokens(
    images: Mapping[str, bytes], element: ElementType, plan: StreamPlan, format: TokenFormat
) -> list[Token]:
    """The stream that a sink has written, of its ``values`` and ``list``.

    Raises `InputError` for a list that was not written to its end, or that has other lengths than values.
    """
    count, held = np.frombuffer(images["list"], "<u4", 2).tolist()
    if count == 0:
        raise InputError(f"sink {plan.name!r} has not ended: its list begins with 0")
    words = np.frombuffer(images["list"], "<u4", count, plan.request_bytes).tolist()
    leaves = list[int]()  # the rows of each value, the last one first
    nested = _backwards(iter(reversed(words)), format.rank + 1, plan.rows, leaves)
    if len(leaves) != held:
        raise InputError(f"the lengths of sink {plan.name!r} stand for {len(leaves)} values, not for {held}")
    values, at = [], 0
    for rows in reversed(leaves):
        size = format.words_of(rows) if plan.rows else plan.words
        given = images["values"][at : at + size * plan.word_bytes]
        at += -(-len(given) // plan.unit_bytes) * plan.unit_bytes
        parts = [given[place : place + plan.word_bytes] for place in range(0, len(given), plan.word_bytes)]
        numbers = [int.from_bytes(each, "little") for each in parts]
        values.append(unpack_words(numbers, element, format, rows))
    found = iter(values)
    tokens = from_nested(nested, format.rank)
    return [each._replace(value=next(found)) if each.has_value else each for each in tokens]


def _backwards(words: Iterator[int], level: int, rows: bool, leaves: list[int]) -> Any:
    """The lists of ``level`` whose lengths are in ``words``, the last one first; values go to ``leaves``."""
    if level == 0:
        leaves.append(next(words) if rows else 0)
        return None
    entries = [_backwards(words, level - 1, rows, leaves) for _ in range(next(words))]
    return entries[::-1]


def entries(part: Any, extents: Sequence[int | None]) -> Iterator[tuple[Any, int | None]]:
    """Every list before what is in it, with its extent as planned, and every value."""
    if not extents:
        yield part, None
        return
    yield part, extents[0]
    for each in part:
        yield from entries(each, extents[1:])


def _value(value: Any, element: ElementType, plan: StreamPlan, format: TokenFormat) -> bytes:
    """The words of ``value``, to the end of a unit."""
    if not plan.word_bytes:
        return b""
    data = b"".join(each.to_bytes(plan.word_bytes, "little") for each in pack_words(value, element, format))
    return data + bytes(-len(data) % plan.unit_bytes)
