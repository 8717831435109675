"""Entries of the cache, their sizes, and room for new ones: the entry that was not used for longest goes first."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from step.host.amounts import prefix
from step.host.files import locked
from step.host.sizes import cache_limit
from step.host.usage import DAY, last_used

_KEYED = re.compile(r"([a-z]+)-[0-9a-f]{32}(\.partial|\.log)?")


@dataclass(frozen=True)
class CacheEntry:
    """``kind`` is what it is for, ``size`` in bytes, ``used`` in seconds since the epoch.

    ``lock`` is the name of its lock: None for a file that is written at once. One that is ``unfinished`` is being made,
    or was left behind by a process that was killed.
    """

    path: Path
    kind: str
    size: int
    used: float
    lock: str | None
    unfinished: bool

    @property
    def age(self) -> float:
        """Seconds since the last use."""
        return max(0.0, time.time() - self.used)


def entries(root: Path) -> list[CacheEntry]:
    """All of the cache that may go, what was used last at the end."""
    found = []
    for path in root.iterdir():
        with contextlib.suppress(FileNotFoundError):  # somebody else was faster
            match = _KEYED.fullmatch(path.name)
            if match is not None:
                lock, suffix = path.name.removesuffix(match[2] or ""), match[2]
                kind = "failed builds" if suffix == ".log" else match[1]
                found.append(CacheEntry(path, kind, _size(path), last_used(path), lock, suffix == ".partial"))
            elif path.is_dir():
                files = [each for each in path.rglob("*") if each.is_file()]
                found += [CacheEntry(each, path.name, _size(each), last_used(each), None, False) for each in files]
    return sorted(found, key=lambda each: each.used)


def remove(root: Path, chosen: Iterable[CacheEntry], *, idle: float = 0.0) -> list[CacheEntry]:
    """Throw ``chosen`` away; returns what went.

    What is being made now stays, as does what was used in the last ``idle`` seconds, and what belongs to others.
    """
    return [each for each in chosen if _remove(root, each, idle)]


def down_to(root: Path, limit: int) -> list[CacheEntry]:
    """The entries that have to go so that the others take ``limit`` bytes at most."""
    found = entries(root)
    *before, total = accumulate((each.size for each in found), initial=0)
    return [each for each, gone in zip(found, before, strict=True) if total - gone > limit]


def make_room(root: Path) -> None:
    """Keep the cache within `cache_limit`, and free of what killed processes left.

    What was used within a day stays, so nobody's build goes away under him.
    """
    chosen = {*down_to(root, cache_limit()), *(each for each in entries(root) if each.unfinished)}
    remove(root, [each for each in chosen if each.age > DAY], idle=DAY)


def size_text(size: int) -> str:
    """``size`` in bytes as a person reads it."""
    scale, si = prefix(size)
    return f"{size / scale:.{1 if si else 0}f} {si.upper()}B"


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(each.lstat().st_size for each in files if not each.is_dir())


def _remove(root: Path, entry: CacheEntry, idle: float) -> bool:
    try:
        if entry.lock is None:
            entry.path.unlink()
            return True
        with locked(root / f"{entry.lock}.lock", wait=False):
            if not entry.path.exists() or time.time() - last_used(entry.path) < idle:
                return False
            if not entry.path.is_dir() or entry.path.is_symlink():
                entry.path.unlink()
                return True
            partial = root / f"{entry.lock}.partial"  # an entry that exists is whole, also while it goes
            if entry.path != partial:
                shutil.rmtree(partial, ignore_errors=True)
                entry.path.rename(partial)
            shutil.rmtree(partial)
            return True
    except OSError:
        return False
