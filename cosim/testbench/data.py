"""The data of a bench, as ``$readmemh`` reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hw.links.layout import TokenFormat, data_bits, input_formats
from hw.links.packing import pack_tiles, pack_transfers
from step.language.dtypes import BOOL
from step.language.faults import tuple_of
from step.language.tiling import accesses
from step.language.tokens import DONE, Token
from step.language.types import ElementType, Selector, Tile, Tuple
from step.lowering.memory import memory_map
from step.lowering.netlist import Netlist


def hex_lines(content: bytes, width: int) -> str:
    """``content`` for ``$readmemh``: a line for each word of so many bytes."""
    words = (content[at : at + width].ljust(width, b"\0") for at in range(0, len(content), width))
    return "".join(f"{each[::-1].hex()}\n" for each in words)


def fabric_data(
    netlist: Netlist,
    sources: Mapping[str, Sequence[int]],
    memory: bytes,
    outputs: Mapping[str, Sequence[Token]],
    width: int,
) -> dict[str, str]:
    """Data that a fabric alone is played, and that it is compared with, by file name.

    ``sources`` and ``memory`` are as `write_inputs` takes them; ``outputs`` are those that `interpret` gives, without
    Done. ``width``: bytes of a word of memory. Zeros at the end of memory are left out.
    """
    files = {f"source_{name}.hex": _numbers(those) for name, those in sources.items()}
    for node in netlist.units:
        if node.operator.hands_out:
            element, (format,) = node.inputs[0].element, input_formats(node, netlist)
            expected, mask = list[int](), list[int]()
            for token in [*outputs[node.name], DONE]:
                those = pack_transfers(token, element, format)
                expected += those
                mask += _mask(token, element, format, len(those))
            files |= {f"sink_{node.name}.hex": _numbers(expected), f"sink_{node.name}_mask.hex": _numbers(mask)}
    if memory:
        after = _memory_after(netlist, memory, outputs)
        for name, content in (("memory", memory), ("expected", after)):
            files[f"{name}.hex"] = hex_lines(content.rstrip(b"\0") or b"\0", width)
    return files


def _numbers(transfers: Sequence[int]) -> str:
    return "".join(f"{each:x}\n" for each in transfers)


def _mask(token: Token, element: ElementType, format: TokenFormat, count: int) -> list[int]:
    """The bits of a token's transfers that mean something; without a value all do, and data is 0."""
    head = (1 << format.header_bits + 1) - 1
    if not token.has_value:
        return [(1 << format.header_bits + 1 + data_bits(format)) - 1] * count
    ones = token._replace(value=all_ones(token.value, element))
    return [each | head for each in pack_transfers(ones, element, format)]


def _memory_after(netlist: Netlist, before: bytes, outputs: Mapping[str, Sequence[Token]]) -> bytes:
    """Memory behind a run: what stores leave, each in its region."""
    layout, beat, image = memory_map(netlist), netlist.fabric.memory.beat_bytes, bytearray(before)
    for node, access in accesses(netlist.units, writes=True):
        packed = packed_tiles(outputs[access.tensor or node.name], access.tile, beat)
        start = layout.stores[node.name].base * beat
        image[start : start + len(packed)] = packed
    return bytes(image)


def packed_tiles(tokens: Sequence[Token], tile: Tile, beat_bytes: int) -> bytes:
    """The tiles of ``tokens`` as they lie in memory."""
    values = [each.value for each in tokens if each.has_value]
    return pack_tiles(np.array(values, tile.dtype.numpy).reshape(-1, *tile.shape), tile, beat_bytes)


def all_ones(value: Any, element: ElementType) -> Any:
    """The value of ``element`` all of whose bits are set, with as many rows as ``value``."""
    if isinstance(element, Tuple):
        items = [all_ones(*pair) for pair in zip(value, element.items, strict=True)]
        return tuple_of(element.items)(items)
    if isinstance(element, Selector):
        return (1 << element.targets) - 1
    if isinstance(element, Tile) and isinstance(value, np.ndarray):
        if element.dtype == BOOL:
            return np.ones(value.shape, np.bool_)
        return np.frombuffer(b"\xff" * value.nbytes, element.dtype.numpy).reshape(value.shape)
    return value
