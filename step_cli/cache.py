"""``step cache``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from cosim.cache.size import CacheEntry, down_to, entries, remove, size_text
from step.errors import InputError
from step.host.amounts import DAYS
from step.host.files import cache_directory
from step.host.sizes import cache_limit, parse_size
from step.host.usage import DAY
from step_cli.console import new_table, show_json, show_table, warn
from step_cli.options import Amount, json_option


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def cache(context: click.Context, as_json: bool) -> None:
    """How large the cache is; `list` its entries, or `clean` it.

    What was not used for the longest time goes by itself when the cache is larger than STEP_CACHE_LIMIT (10 GB), but
    nothing that was used within a day.
    """
    if context.invoked_subcommand is not None:
        return
    root, limit = cache_directory(), cache_limit()
    kinds: dict[str, list[CacheEntry]] = {}
    for each in entries(root):
        kinds.setdefault(_kind(each), []).append(each)
    if as_json:
        plain = {kind: {"entries": len(each), "bytes": _total(each)} for kind, each in kinds.items()}
        show_json({"directory": str(root), "limit_bytes": limit, "bytes": _sum(kinds), "kinds": plain})
        return
    table = new_table(f"{root}: {size_text(_sum(kinds))} of {size_text(limit)}", "kind", "entries", "size", "last used")
    for kind, found in sorted(kinds.items(), key=lambda item: -_total(item[1])):
        table.add_row(kind, f"{len(found):,}", size_text(_total(found)), _ago(found[-1]))
    show_table(table)


@cache.command("list")
@json_option
def list_entries(as_json: bool) -> None:
    """All entries, what was used last first."""
    found = entries(cache_directory())[::-1]
    if as_json:
        show_json([{"path": str(each.path), "bytes": each.size, "last_used": each.used} for each in found])
        return
    root = cache_directory()
    table = new_table(f"{root}: {len(found):,} entries, {size_text(_total(found))}", "entry", "size", "last used")
    for each in found:
        table.add_row(str(each.path.relative_to(root)), size_text(each.size), _ago(each))
    show_table(table)


@cache.command()
@click.option("--all", "everything", is_flag=True, help="All entries.")
@click.option("--older-than", type=Amount(DAYS), metavar="DAYS", help="What was not used for so long.")
@click.option("--down-to", metavar="SIZE", help="The longest unused ones, until the rest has this size, such as 500MB.")
@json_option
def clean(everything: bool, older_than: float | None, down_to: str | None, as_json: bool) -> None:
    """Throw entries away. What is being made at the moment stays."""
    chosen = _chosen(cache_directory(), everything, older_than, down_to)
    gone = remove(cache_directory(), chosen)
    left = entries(cache_directory())
    if len(gone) < len(chosen):
        warn([f"{len(chosen) - len(gone):,} entries stay: they are being made, or are not yours to remove"])
    if as_json:
        show_json({"removed": len(gone), "removed_bytes": _total(gone), "left": len(left), "left_bytes": _total(left)})
    else:
        click.echo(
            f"ok: {len(gone):,} entries removed, {size_text(_total(gone))}; "
            f"{len(left):,} left, {size_text(_total(left))}"
        )


def _chosen(root: Path, everything: bool, older_than: float | None, size: str | None) -> list[CacheEntry]:
    if everything + (older_than is not None) + (size is not None) != 1:
        raise InputError("`step cache clean` needs one of --all, --older-than DAYS and --down-to SIZE")
    if size is not None:
        return down_to(root, parse_size(size))
    return [each for each in entries(root) if everything or each.age > (older_than or 0) * DAY]


def _kind(entry: CacheEntry) -> str:
    return f"unfinished {entry.kind}" if entry.unfinished else entry.kind


def _total(found: Iterable[CacheEntry]) -> int:
    return sum(each.size for each in found)


def _sum(kinds: dict[str, list[CacheEntry]]) -> int:
    return sum(map(_total, kinds.values()))


def _ago(entry: CacheEntry) -> str:
    for unit, seconds in (("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if entry.age >= seconds:
            return f"{entry.age / seconds:.0f} {unit} ago"
    return "now"
