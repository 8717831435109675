"""A program's data in the memory of a board: before a run, and what a run leaves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from cosim.board.tables import PlacedImage, StreamTable, Tables, TensorTable
from cosim.testbench.data import all_ones, packed_tiles
from hw.dma.images import sink_tokens, source_images
from hw.links.layout import input_formats, output_formats
from hw.links.packing import pack_tiles, unpack_tiles
from step.errors import InputError, expect
from step.language.faults import rows_of
from step.language.graph import Node
from step.language.tiling import TiledTensor
from step.language.tokens import DONE, Token, to_nested
from step.lowering.board import BoardPlan
from step.lowering.bus import PAGE
from step.lowering.dma import LENGTH_BYTES
from step.programs.data.inputs import BoundInputs
from step.programs.data.stored import as_output


@dataclass(frozen=True)
class ExpectedImage:
    """The ``content`` of an image after a run, where bits of the ``mask`` are set."""

    content: bytes
    mask: bytes


def contents(tables: Tables, data: BoundInputs) -> dict[str, bytes]:
    """The images that the program reads, by name."""
    images, found, beat = tables.design.board.images, dict[str, bytes](), tables.design.board.beat_bytes
    for tensor in tables.tensors:
        for image, tile in tensor.tilings.items() if tensor.access.tensor else ():
            found[images[image].name] = pack_tiles(data.tiles(tensor.name, tile.shape), tile, beat)
    for stream in tables.streams:
        if stream.stream.is_source:
            for part, content in _packed(tables, stream, data.streams[stream.name]).items():
                found[f"{stream.name}_{part}"] = content
    return found


def wanted(tables: Tables, outputs: Mapping[str, Sequence[Token]]) -> dict[str, ExpectedImage]:
    """Images as a run with these ``outputs`` leaves them, by name."""
    images, found, beat = tables.design.board.images, dict[str, ExpectedImage](), tables.design.board.beat_bytes
    for tensor in tables.tensors:
        if tensor.is_stored:
            packed = packed_tiles(outputs[tensor.name], tensor.access.tile, beat)
            found[images[next(iter(tensor.tilings))].name] = ExpectedImage(packed, b"\xff" * len(packed))
    for stream in tables.streams:
        if not stream.stream.is_source:
            found |= {f"{stream.name}_{part}": each for part, each in _left(tables, stream, outputs).items()}
    return found


def places(board: BoardPlan, base: int, sizes: Mapping[str, int], least: int = 0) -> tuple[PlacedImage, ...]:
    """Default places of images: one after the other from ``base`` on, each on a page.

    ``sizes``: what the data takes. An image whose size only a run tells has room for twice as much, and for ``least``.
    """
    found = []
    for image in board.images:
        size = sizes.get(image.name, 0)
        room = max(size, board.bytes_of(image)) if image.beats else max(2 * size, least)
        room = max(PAGE, -(-room // PAGE) * PAGE)
        found.append(PlacedImage(image.name, base, room))
        base += room
    return tuple(found)


def check_places(placed: Sequence[PlacedImage], bases: Mapping[str, int], board: BoardPlan) -> tuple[PlacedImage, ...]:
    """``placed`` with the ``bases`` that somebody chose, by name.

    Raises `InputError` for one of no image, one that is not aligned, images that overlap, and those that the addresses
    of the bus do not reach.
    """
    names = [each.name for each in placed]
    for name in bases:
        expect(name in names, f"the board has no image {name!r}; it has {', '.join(names)}", InputError)
    found = [replace(each, address=bases.get(each.name, each.address)) for each in placed]
    for each in found:
        if each.address % board.beat_bytes:
            raise InputError(
                f"the base of {each.name!r} must be a multiple of the {board.beat_bytes} bytes of a beat, "
                f"not {each.address:#x}"
            )
        if each.address < 0 or each.end > 1 << board.bus.address_bits:
            raise InputError(
                f"{each.name!r} at {each.address:#x} takes {each.bytes:,} bytes, beyond the {board.bus.address_bits} "
                "address bits of the bus"
            )
    in_order = sorted(found, key=lambda each: each.address)
    for one, other in pairwise(in_order):
        if one.end > other.address:
            raise InputError(
                f"{other.name!r} at {other.address:#x} lies in {one.name!r}, which is at {one.address:#x} and takes "
                f"{one.bytes:,} bytes"
            )
    return tuple(found)


def _packed(tables: Tables, stream: StreamTable, tokens: Sequence[Token]) -> dict[str, bytes]:
    """The images of a stream as a source reads it."""
    node, netlist = stream.node, tables.netlist
    (format, *_) = (output_formats if stream.stream.is_source else input_formats)(node, netlist)
    images = source_images(tokens, stream.element, stream.stream.plan, format)
    return {part: images[part] for part in stream.stream.plan.parts}


def _left(tables: Tables, stream: StreamTable, outputs: Mapping[str, Sequence[Token]]) -> dict[str, ExpectedImage]:
    """The images of a stream as a sink writes it."""
    plan, tokens = stream.stream.plan, [*outputs[stream.name], DONE]
    found = {}
    if "values" in stream.images:
        ones = [
            each._replace(value=all_ones(each.value, stream.element)) if each.has_value else each for each in tokens
        ]
        found["values"] = ExpectedImage(*(_packed(tables, stream, each)["values"] for each in (tokens, ones)))
    lengths = list[int]()
    count = _lengths(to_nested(tokens, len(plan.extents) - 1), len(plan.extents), plan.rows, lengths)
    head = np.array([len(lengths), count], "<u4").tobytes().ljust(plan.request_bytes, b"\0")
    words = np.array(lengths, "<u4").tobytes()
    mask = (b"\xff" * 2 * LENGTH_BYTES).ljust(plan.request_bytes, b"\0") + b"\xff" * len(words)
    found["list"] = ExpectedImage(head + words, mask)
    return found


def _lengths(part: Any, levels: int, rows: bool, found: list[int]) -> int:
    """Append all lengths of ``part``, each where it ends; returns how many values there are."""
    if levels == 0:
        if rows:
            found.append(rows_of(part))
        return 1
    count = sum(_lengths(each, levels - 1, rows, found) for each in part)
    found.append(len(part))
    return count


def outputs_of(tables: Tables, images: Mapping[str, bytes]) -> dict[str, list[Token]]:
    """Tokens of sinks, tiles that were stored, and declared tensors that were, in the order of the units; without Done.

    A store of any number of tiles is left out: a board does not say how many there were.
    """
    found: dict[str, list[Token]] = {}
    for node in tables.netlist.units:
        for stream in tables.streams:
            if stream.node is node and not stream.stream.is_source:
                (format,) = input_formats(node, tables.netlist)
                parts = {part: images.get(f"{stream.name}_{part}", b"") for part in ("values", "list")}
                tokens = sink_tokens(parts, stream.element, stream.stream.plan, format)
                found[stream.name] = [each for each in tokens if not each.done]
        for tensor in tables.tensors:
            if tensor.node is node and tensor.outer:
                found[tensor.name] = _stored(tables, tensor, node, images)
    return found


def _stored(tables: Tables, tensor: TensorTable, node: Node, images: Mapping[str, bytes]) -> list[Token]:
    board, access, graph = tables.design.board, tensor.access, tables.netlist.graph
    if access.tensor is not None:
        extents = TiledTensor(graph.tensors[access.tensor], access.tile.shape).extents
    else:
        extents = tuple(map(int, node.input_types[access.port].shape))
    content, size = images[board.images[next(iter(tensor.tilings))].name], tables.tile_bytes(access.tile)
    content = content[: prod(extents) * size].ljust(prod(extents) * size, b"\0")
    return as_output(extents, unpack_tiles(content, access.tile, board.beat_bytes))
