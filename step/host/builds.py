"""Builds kept by the hash of all that went into them.

An entry is a directory. It is made under another name and renamed when it is whole, so an entry that exists is good;
a lock for each key lets parallel processes wait for each other instead of building twice. What was not used for long
goes when there is too much (`step.host.entries`).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from step.host.entries import make_room
from step.host.files import cache_directory, locked, writing_cache
from step.host.usage import is_recent, mark_used


def content_key(parts: Iterable[str | bytes]) -> str:
    """A key that differs when any of ``parts`` does."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()[:32]


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The cache entry ``name``, made by ``make(directory)`` where it is missing.

    Whatever interrupts ``make`` leaves no entry; the log of a failed build stays beside it (`failure_log`).
    """
    root = cache_directory()
    entry = root / name
    if entry.is_dir() and is_recent(entry):  # nobody throws it away while it is used
        return entry
    with writing_cache(), locked(root / f"{name}.lock"):
        if entry.is_dir():
            mark_used(entry)
            return entry
        partial = root / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            make(partial)
            partial.rename(entry)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            failure_log(name).unlink()
    make_room(root)
    return entry


def failure_log(name: str) -> Path:
    """The place of the log of a failed build of the entry ``name``."""
    return cache_directory() / f"{name}.log"
