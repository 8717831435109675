"""Streams as they lie in memory for the DMA (`step.lowering.dma`), and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hw.links.layout import TokenFormat
from hw.links.packing import control_bits, pack_words
from step.language.faults import rows_of
from step.language.tokens import Token, to_nested
from step.language.types import ElementType
from step.lowering.dma import LENGTH_BYTES, StreamPlan


def source_images(
    tokens: Sequence[Token], element: ElementType, plan: StreamPlan, format: TokenFormat
) -> dict[str, bytes]:
    """The ``values`` and, where there is one, the ``list`` of a stream.

    ``tokens`` are those that `step.programs.data.inputs.bind_inputs` makes of arrays and nested lists, which refuses
    what does not fit the stream.
    """
    values, lengths = bytearray(), list[int]()
    for entry, extent in _entries(to_nested(tokens, format.rank), plan.extents):
        if not isinstance(entry, list):
            values += _value(entry, element, plan, format)
            lengths += [rows_of(entry)] if plan.rows else []
        elif extent is None:
            lengths.append(len(entry))
    values += bytes(-len(values) % plan.request_bytes)
    if not plan.listed:
        return {"values": bytes(values)}
    requests = -(-(2 + len(lengths)) * LENGTH_BYTES // plan.request_bytes)
    words = np.array([requests, len(values) // plan.request_bytes, *lengths], "<u4").tobytes()
    return {"values": bytes(values), "list": words + bytes(-len(words) % plan.request_bytes)}


def _entries(part: Any, extents: Sequence[int | None]) -> Iterator[tuple[Any, int | None]]:
    """Every list before what is in it, with its extent as planned, and every value."""
    if not extents:
        yield part, None
        return
    yield part, extents[0]
    for each in part:
        yield from _entries(each, extents[1:])


def _value(value: Any, element: ElementType, plan: StreamPlan, format: TokenFormat) -> bytes:
    """The words of ``value``, to the end of a unit."""
    if not plan.word_bytes:
        return b""
    words = [control_bits(value)] if format.control else pack_words(value, element, format)
    data = b"".join(each.to_bytes(plan.word_bytes, "little") for each in words)
    return data + bytes(-len(data) % plan.unit_bytes)
