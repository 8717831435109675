"""``step import``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from step.language.fused import Sum
from step_cli.console import new_table, show_json, show_table, show_written
from step_cli.options import json_option, writable
from step_torch.imported import Imported, load
from step_torch.tiling import ROWS, Tiling

DEFAULT = Tiling()


@click.command("import")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the program (.json)."
)
@click.option(
    "--inputs",
    "data",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Input data (.npz) instead of that of the capture; dynamic axes may have other extents.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), help=f"Rows of a tile, by default the most up to {ROWS} that divide."
)
@click.option(
    "--columns",
    type=click.IntRange(min=1),
    default=DEFAULT.columns,
    show_default=True,
    help="Columns of a tile of weights.",
)
@click.option(
    "--cache-rows",
    type=click.IntRange(min=1),
    default=DEFAULT.cache_rows,
    show_default=True,
    help="Rows of a tile of KV caches.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="How much of its depth a product with a weight takes at a time, by default all.",
)
@click.option(
    "--sum",
    "total",
    type=click.Choice(["ordered", "fused"]),
    default=DEFAULT.sum,
    show_default=True,
    help="How products are summed.",
)
@click.option(
    "--side-by-side",
    type=click.IntRange(min=1),
    default=DEFAULT.side_by_side,
    show_default=True,
    help="Units that share the columns of a product with a weight.",
)
@click.option("--streamed", is_flag=True, help="Read weights for every tile of rows, instead of keeping them on chip.")
@click.option("--joins", is_flag=True, help="List the converters between layouts.")
@click.option("--check", is_flag=True, help="Run the program, and compare with what torch made of the same data.")
@json_option
def command(
    model: Path,
    output: Path | None,
    data: Path | None,
    rows: int | None,
    columns: int,
    cache_rows: int,
    depth: int | None,
    total: Sum,
    side_by_side: int,
    streamed: bool,
    joins: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Import MODEL, a module of PyTorch that step_torch.capture wrote (.pt2), as a program.

    It needs no torch. What has no lowering is listed, all at once, with its lines.
    """
    if output is not None:
        writable(output)
    tiling = Tiling(
        rows,
        columns,
        held=not streamed,
        cache_rows=cache_rows,
        depth=depth,
        sum=total,
        side_by_side=side_by_side,
    )
    imported = load(model, inputs=data, tiling=tiling)
    found = imported.check() if check else None
    if output is not None:
        imported.program.save(output)
    if as_json:
        show_json(
            {
                "program": imported.lowered.name,
                "operators": len(imported.lowered.graph.nodes),
                "nodes": len(imported.nodes.nodes),
                "host": imported.host,
                "notes": list(imported.notes),
                "intermediate_bytes": imported.intermediate_bytes,
                "joins": [
                    {
                        "kind": each.kind,
                        "bytes": each.bytes,
                        "node": each.node,
                        "place": str(each.place),
                        "why": each.why,
                    }
                    for each in imported.joins()
                ],
                "check": found and {"error": found.error, "torch_error": found.torch_error, "passed": found.passed},
            }
        )
        return
    _show(imported, with_joins=joins)
    if found is not None:
        click.echo(f"{found}: {'as good' if found.passed else 'worse'}")
    show_written(output)


def _show(imported: Imported, *, with_joins: bool) -> None:
    held = sum(each.bytes for each in imported.joins())
    click.echo(
        f"{imported.lowered.name}: {len(imported.lowered.graph.nodes)} operators of {len(imported.nodes.nodes)} of "
        f"torch, {len(imported.joins())} joins that hold {held:,} bytes, "
        f"{held / imported.intermediate_bytes:.1%} of the intermediates"
    )
    for each in imported.host:
        click.echo(f"  from the host: {each}")
    for each in imported.notes:
        click.echo(f"  {each}")
    if with_joins:
        table = new_table("joins", "kind", "bytes", "for", "why", names=("kind", "for", "why"))
        for join in imported.joins():
            table.add_row(escape(join.kind), f"{join.bytes:,}", escape(f"{join.node} ({join.place})"), escape(join.why))
        click.echo()
        show_table(table)
