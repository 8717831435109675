"""``step import``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import click

import step_torch
from step_cli.console import show, table
from step_cli.options import Count, Read, Written
from step_cli.tiles import TileOptions
from step_cli.verb import NATURAL, Note, call, verb
from step_torch.imported import Imported, load
from step_torch.tiling import ROWS, Tiling


@verb
def command(
    *,
    model: Annotated[Path, Note.ARGUMENT],
    output: Annotated[Written, "-o", "--output", "Write the program (.json)."],
    inputs: Annotated[Read, "Input data (.npz) instead of that of the capture; dynamic axes may have other extents."],
    rows: Annotated[Count, f"Rows of a tile, by default {ROWS}, or a number near by that divides."],
    tiles: TileOptions,
    streamed: Annotated[bool, "Read weights for every tile of rows, instead of keeping them on chip."],
    layer: Annotated[int | None, NATURAL, "Of a folder: the layer, by default 0."],
    tokens: Annotated[Count, "Of a folder: rows that go into the layer, by default 16."],
    joins: Annotated[bool, "List the converters between layouts."],
    check: Annotated[bool, "Run the program, and compare with what torch made of the same data."],
) -> None:
    """Import MODEL, a module of PyTorch that step_torch.capture wrote (.pt2), as a program.

    It needs no torch. What has no lowering is listed, all at once, with its lines. With torch, MODEL may be a folder
    that save_pretrained of transformers wrote: one layer of it is imported.
    """
    tiling = call(Tiling, held=not streamed)
    if model.is_dir():
        imported = step_torch.from_pretrained(model).layer(
            layer or 0, tokens=tokens or 16, inputs=inputs, tiling=tiling
        )
    elif layer is not None or tokens is not None:
        raise click.UsageError("--layer and --tokens are of a folder that save_pretrained wrote, not of a file")
    else:
        imported = load(model, inputs=inputs, tiling=tiling)
    found = imported.check() if check else None
    if output is not None:
        imported.program.save(output)
    made, names = imported.joins(), ("kind", "bytes", "node", "place", "why")
    plain = {
        "program": imported.lowered.name,
        "operators": len(imported.lowered.graph.nodes),
        "nodes": len(imported.nodes.nodes),
        "host": imported.host,
        "tiling": imported.tiling.said,
        "notes": imported.notes,
        "intermediate_bytes": imported.intermediate_bytes,
        "joins": [{name: getattr(each, name) for name in names} | {"place": str(each.place)} for each in made],
        "check": found and {"error": found.error, "torch_error": found.torch_error, "passed": found.passed},
    }
    checked = [] if found is None else [f"{found}: {'as good' if found.passed else 'worse'}"]
    show(plain, chain(_texts(imported, with_joins=joins), checked), output)


def _texts(imported: Imported, *, with_joins: bool) -> Iterator[str]:
    held = sum(each.bytes for each in imported.joins())
    yield (
        f"{imported.lowered.name}: {len(imported.lowered.graph.nodes)} operators of {len(imported.nodes.nodes)} of "
        f"torch, {len(imported.joins())} joins that hold {held:,} bytes, "
        f"{held / imported.intermediate_bytes:.1%} of the intermediates"
    )
    for each in imported.host:
        yield f"  from the host: {each}"
    for each in (*imported.tiling.said, *imported.notes):
        yield f"  {each}"
    if with_joins:
        rows = ((each.kind, each.bytes, f"{each.node} ({each.place})", each.why) for each in imported.joins())
        yield ""
        yield table("joins", ("kind", "bytes", "for", "why"), rows, names=("kind", "for", "why"))
