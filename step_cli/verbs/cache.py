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
from step_cli.console import show, table, warn
from step_cli.options import Amount
from step_cli.verb import verb


def command() -> None:
    """Show the size of the cache; `list` its entries, or `clean` it.

    What was not used for the longest time goes by itself when the cache is larger than STEP_CACHE_LIMIT (10 GB), but
    nothing that was used within a day.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    root, limit = cache_directory(), cache_limit()
    found, kinds = entries(root), dict[str, list[CacheEntry]]()
    for each in found:
        kinds.setdefault("unfinished " * each.unfinished + each.kind, []).append(each)
    size, sizes = _total(found), {kind: _total(of) for kind, of in kinds.items()}
    plain = {kind: {"entries": len(of), "bytes": sizes[kind]} for kind, of in kinds.items()}
    largest = sorted(kinds.items(), key=lambda item: -sizes[item[0]])
    rows = ((kind, len(of), size_text(sizes[kind]), _ago(of[-1])) for kind, of in largest)
    show(
        {"directory": str(root), "limit_bytes": limit, "bytes": size, "kinds": plain},
        table(f"{root}: {size_text(size)} of {size_text(limit)}", ("kind", "entries", "size", "last used"), rows),
    )


@verb
def list_entries() -> None:
    """All entries, what was used last first."""
    root = cache_directory()
    found = entries(root)[::-1]
    plain = [{"path": str(each.path), "bytes": each.size, "last_used": each.used} for each in found]
    rows = ((str(each.path.relative_to(root)), size_text(each.size), _ago(each)) for each in found)
    title = f"{root}: {len(found):,} entries, {size_text(_total(found))}"
    show(plain, table(title, ("entry", "size", "last used"), rows))


@verb
def clean(
    *,
    everything: Annotated[bool, "--all", "All entries."],
    older_than: Annotated[float | None, Amount(DAYS), "DAYS", "What was not used for so long."],
    down_to: Annotated[str | None, "SIZE", "The longest unused ones, until the rest has this size, such as 500MB."],
) -> None:
    """Throw entries away. What is being made at the moment stays."""
    chosen = _chosen(cache_directory(), everything, older_than, down_to)
    gone = remove(cache_directory(), chosen)
    left = entries(cache_directory())
    if len(gone) < len(chosen):
        warn([f"{len(chosen) - len(gone):,} entries stay: they are being made, or are not yours to remove"])
    show(
        {"removed": len(gone), "removed_bytes": _total(gone), "left": len(left), "left_bytes": _total(left)},
        f"ok: {len(gone):,} entries removed, {size_text(_total(gone))}; {len(left):,} left, {size_text(_total(left))}",
    )


command = verb(command, click.Group, invoke_without_command=True, commands={"list": list_entries, "clean": clean})


def _chosen(root: Path, everything: bool, older_than: float | None, size: str | None) -> list[CacheEntry]:
    if everything + (older_than is not None) + (size is not None) != 1:
        raise InputError("`step cache clean` needs one of --all, --older-than DAYS and --down-to SIZE")
    if size is not None:
        return down_to(root, parse_size(size))
    return [each for each in entries(root) if everything or each.age > (older_than or 0) * DAY]


def _total(found: Iterable[CacheEntry]) -> int:
    return sum(each.size for each in found)


def _ago(entry: CacheEntry) -> str:
    for unit, seconds in (("d", DAY), ("h", 3600.0), ("min", 60.0)):
        if entry.age >= seconds:
            return f"{entry.age / seconds:.0f} {unit} ago"
    return "now"
