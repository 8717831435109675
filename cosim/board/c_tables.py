"""``fabric_NAME.h`` and ``fabric_NAME.c``: the tables of a board for the C driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple

from cosim.board.tables import PlacedImage, StreamTable, Tables, TensorTable, part_of


def tables_header(tables: Tables) -> str:
    """The header: numbers of images, tensors and streams, and the declaration of the tables."""
    name, upper = tables.name, tables.name.upper()
    images = tables.design.board.images
    lines = [f"/* The board of {tables.netlist.graph.name}, for step_board.h. */"]
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", "", '#include "step_board.h"', ""]
    lines.append(f"#define {upper}_IMAGES {len(images)}u")
    for kind, those in (("IMAGE", images), ("TENSOR", tables.tensors), ("STREAM", tables.streams)):
        names = (re.sub(r"\W", "_", each.name).upper() for each in those)
        lines += [f"#define {upper}_{kind}_{each} {at}u" for at, each in enumerate(names)]
    return "\n".join([*lines, "", f"extern const step_design {name};", "", "#endif"]) + "\n"


def tables_source(tables: Tables, places: Sequence[PlacedImage]) -> str:
    """The tables; ``places`` are those of the memory image."""
    board, fabric, name = tables.design.board, tables.design.fabric, tables.name
    units, ports = [each.name for each in tables.netlist.units], [each.name for each in board.ports]
    lines = [f'#include "{name}.h"', ""]
    lines += array("step_image", "images", (_image(tables, each, places[0].address) for each in places))
    for at, tensor in enumerate(tables.tensors):
        tilings = ((astuple(part_of(each)), tables.tile_bytes(each), image) for image, each in tensor.tilings.items())
        lines += array("step_tiling", f"tilings{at}", tilings)
    lines += array("step_tensor", "tensors", (_tensor(at, each) for at, each in enumerate(tables.tensors)))
    for at, stream in enumerate(tables.streams):
        extents = ("STEP_DYNAMIC" if each is None else each for each in stream.stream.plan.extents)
        lines += array("uint32_t", f"extents{at}", extents)
        lines += array("step_tile", f"parts{at}", map(astuple, stream.parts))
    lines += array("step_stream", "streams", (_stream(at, each) for at, each in enumerate(tables.streams)))
    lines += array("char *const", "units", map(_quoted, units))
    lines += array("char *const", "ports", map(_quoted, ports))
    head = _quoted(tables.netlist.graph.name), f"0x{fabric.hash[:8]}u", board.beat_bytes, board.bus.address_bits
    arrays = ["images", "tensors" if tables.tensors else "NULL", "streams" if tables.streams else "NULL"]
    counts = map(len, (board.images, tables.tensors, tables.streams, units, ports))
    body = initializer((*arrays, "units", "ports", *counts))
    return "\n".join([*lines, f"const step_design {name} = {initializer(head)[:-1]},", f"    {body[1:]};", ""])


def initializer(value: object) -> str:
    """``value`` in C: tuples in braces, numbers without a sign, texts as they are."""
    if isinstance(value, tuple):
        return f"{{{', '.join(map(initializer, value))}}}"
    return f"{value:d}u" if isinstance(value, int) else str(value)


def array(kind: str, name: str, entries: Iterable[object]) -> list[str]:
    """A constant array; none without entries, which C does not have."""
    found = [f"    {initializer(each)}," for each in entries]
    return [f"static const {kind} {name}[] = {{", *found, "};", ""] if found else []


def _quoted(text: str) -> str:
    return f'"{text}"'


def _image(tables: Tables, place: PlacedImage, base: int) -> tuple[str, ...]:
    registers = tables.settings(place)
    numbers = [place.address - base, place.bytes]
    numbers += [registers.get(each, (0, 0))[0] for each in ("base_low", "base_high", "limit")]
    return _quoted(place.name), *(f"{each:#x}u" for each in numbers)


def _tensor(at: int, tensor: TensorTable) -> tuple[object, ...]:
    outer = tensor.outer or "STEP_DYNAMIC"
    return _quoted(tensor.name), outer, tensor.height, tensor.width, f"tilings{at}", len(tensor.tilings)


def _stream(at: int, stream: StreamTable) -> tuple[object, ...]:
    plan, images = stream.stream.plan, (stream.images.get(each, "STEP_NONE") for each in ("values", "list"))
    arrays = f"extents{at}" if plan.extents else "NULL", f"parts{at}" if stream.parts else "NULL"
    counts = len(plan.extents), len(stream.parts), stream.stream.is_source, plan.rows
    sizes = plan.word_bytes, plan.unit_bytes, plan.request_bytes
    return _quoted(stream.name), *arrays, *counts, *sizes, *images
