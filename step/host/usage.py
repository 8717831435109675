"""When something in the cache was last used, so that what nobody needs any more goes first."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

DAY = 24 * 60 * 60.0
"""What was used within this time, in seconds, is never thrown away by itself: somebody may be at it."""


def last_used(path: Path) -> float:
    """Seconds since the epoch."""
    return path.stat().st_mtime


def is_recent(path: Path) -> bool:
    """Whether ``path`` was used within half of a `DAY`, so that it is safe for another half at least."""
    return time.time() - last_used(path) < DAY / 2


def mark_used(path: Path) -> None:
    """``path`` is used now. A cache that can only be read is left as it is."""
    with contextlib.suppress(OSError):
        os.utime(path)
