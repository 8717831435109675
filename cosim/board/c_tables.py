"""``fabric_NAME.h`` and ``fabric_NAME.c``: the tables of a board for the C driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cosim.board.memory import PlacedImage
from cosim.board.tables import ElementPart, StreamTable, Tables, TensorTable


def tables_header(tables: Tables) -> str:
    """The header: numbers of images, tensors and streams, and the declaration of the tables."""
    name, upper = tables.name, tables.name.upper()
    images = [each.name for each in tables.design.board.images]
    lines = [f"/* The board of {tables.netlist.graph.name}, for step_board.h. */"]
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", "", '#include "step_board.h"', ""]
    lines.append(f"#define {upper}_IMAGES {len(images)}u")
    for kind, names in (
        ("IMAGE", images),
        ("TENSOR", [each.name for each in tables.tensors]),
        ("STREAM", [each.name for each in tables.streams]),
    ):
        lines += [f"#define {upper}_{kind}_{_macro(each)} {at}u" for at, each in enumerate(names)]
    return "\n".join([*lines, "", f"extern const step_design {name};", "", "#endif"]) + "\n"


def tables_source(tables: Tables, places: Sequence[PlacedImage]) -> str:
    """The tables; ``places`` are those of the memory image."""
    board, fabric = tables.design.board, tables.design.fabric
    units = [each.name for each in tables.netlist.units]
    lines = [f'#include "{tables.name}.h"', ""]
    lines += _array("step_image", "images", (_image(tables, each, places[0].address) for each in places))
    for at, tensor in enumerate(tables.tensors):
        tilings = [f"{{{_tile(each.part)}, {each.tile_bytes}u, {each.image}u}}" for each in tensor.tilings]
        lines += _array("step_tiling", f"tilings{at}", tilings)
    lines += _array("step_tensor", "tensors", (_tensor(at, each) for at, each in enumerate(tables.tensors)))
    for at, stream in enumerate(tables.streams):
        extents = ["STEP_DYNAMIC" if each is None else f"{each}u" for each in stream.stream.plan.extents]
        lines += _array("uint32_t", f"extents{at}", extents)
        lines += _array("step_tile", f"parts{at}", map(_tile, stream.parts))
    lines += _array("step_stream", "streams", (_stream(at, each) for at, each in enumerate(tables.streams)))
    lines += _array("char *const", "units", (f'"{each}"' for each in units))
    lines += _array("char *const", "ports", (f'"{each.name}"' for each in board.ports))
    head = f'"{tables.netlist.graph.name}", 0x{fabric.hash[:8]}u, {board.beat_bytes}u, {board.bus.address_bits}u'
    arrays = ["images", *(["tensors"] if tables.tensors else ["NULL"]), *(["streams"] if tables.streams else ["NULL"])]
    counts = (len(board.images), len(tables.tensors), len(tables.streams), len(units), len(board.ports))
    body = ", ".join([*arrays, "units", "ports", *(f"{each}u" for each in counts)])
    lines += [f"const step_design {tables.name} = {{{head},", f"    {body}}};"]
    return "\n".join(lines) + "\n"


def _array(kind: str, name: str, entries: Iterable[str]) -> list[str]:
    """A constant array; none without entries, which C does not have."""
    found = list(entries)
    return [f"static const {kind} {name}[] = {{", *(f"    {each}," for each in found), "};", ""] if found else []


def _macro(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def _image(tables: Tables, place: PlacedImage, base: int) -> str:
    addresses, name = tables.addresses, place.name
    registers = [addresses[f"base_{name}_low"], addresses.get(f"base_{name}_high", 0)]
    registers.append(addresses.get(f"limit_{name}", 0))
    shown = ", ".join(f"{each:#x}u" for each in registers)
    return f'{{"{name}", {place.address - base:#x}u, {place.bytes:#x}u, {shown}}}'


def _tile(part: ElementPart) -> str:
    return f"{{{part.rows}u, {part.columns}u, {part.bits}u}}"


def _tensor(at: int, tensor: TensorTable) -> str:
    outer = f"{tensor.outer}u" if tensor.outer else "STEP_DYNAMIC"
    sizes = f"{outer}, {tensor.height}u, {tensor.width}u"
    return f'{{"{tensor.name}", {sizes}, tilings{at}, {len(tensor.tilings)}u}}'


def _stream(at: int, stream: StreamTable) -> str:
    plan = stream.stream.plan
    extents = f"extents{at}" if plan.extents else "NULL"
    parts = f"parts{at}" if stream.parts else "NULL"
    counts = f"{len(plan.extents)}u, {len(stream.parts)}u, {int(stream.stream.is_source)}u, {int(plan.rows)}u"
    sizes = f"{plan.word_bytes}u, {plan.unit_bytes}u, {plan.request_bytes}u"
    images = ", ".join("STEP_NONE" if each is None else f"{each}u" for each in (stream.values, stream.list))
    return f'{{"{stream.name}", {extents}, {parts}, {counts}, {sizes}, {images}}}'
