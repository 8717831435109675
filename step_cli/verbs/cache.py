"""``step cache``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import click

from step.errors import InputError
from step.host.amounts import DAYS
from step.host.entries import CacheEntry, down_to, entries, remove, size_text
from step.host.files import cache_directory
from step.host.sizes import cache_limit, parse_size
from step.host.usage import DAY
from step_cli.console import show_json, show_rows, warn
from step_cli.options import Amount, Json
from step_cli.verb import verb


def command(as_json: Json) -> None:
    """How large the cache is; `list` its entries, or `clean` it.

    What was not used for the longest time goes by itself when the cache is larger than STEP_CACHE_LIMIT (10 GB), but
    nothing that was used within a day.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    root, limit = cache_directory(), cache_limit()
    kinds: dict[str, list[CacheEntry]] = {}
    for each in entries(root):
        kinds.setdefault(_kind(each), []).append(each)
    if as_json:
        plain = {kind: {"entries": len(each), "bytes": _total(each)} for kind, each in kinds.items()}
        show_json({"directory": str(root), "limit_bytes": limit, "bytes": _sum(kinds), "kinds": plain})
        return
    title, largest = f"{root}: {size_text(_sum(kinds))} of {size_text(limit)}", lambda item: -_total(item[1])
    rows = ((kind, len(of), size_text(_total(of)), _ago(of[-1])) for kind, of in sorted(kinds.items(), key=largest))
    show_rows(title, ("kind", "entries", "size", "last used"), rows)


@verb
def list_entries(as_json: Json) -> None:
    """All entries, what was used last first."""
    found = entries(cache_directory())[::-1]
    if as_json:
        show_json([{"path": str(each.path), "bytes": each.size, "last_used": each.used} for each in found])
        return
    root = cache_directory()
    rows = ((str(each.path.relative_to(root)), size_text(each.size), _ago(each)) for each in found)
    show_rows(f"{root}: {len(found):,} entries, {size_text(_total(found))}", ("entry", "size", "last used"), rows)


@verb
def clean(
    *,
    everything: Annotated[bool, "--all", "All entries."],
    older_than: Annotated[float | None, Amount(DAYS), "DAYS", "What was not used for so long."],
    down_to: Annotated[str | None, "SIZE", "The longest unused ones, until the rest has this size, such as 500MB."],
    as_json: Json,
) -> None:
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


command = verb(command, click.Group, invoke_without_command=True, commands={"list": list_entries, "clean": clean})


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
