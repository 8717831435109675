"""Paths without blanks, for make and Verilator, which take blanks for ends of names."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path

from step.host.files import cache_directory, writing_cache


def plain(path: Path) -> Path:
    """``path``, or the same file through a link to its directory in the cache where the directory has a blank."""
    if not re.search(r"\s", str(path.parent)):
        return path
    links = cache_directory() / "links"
    link = links / hashlib.sha256(str(path.parent).encode()).hexdigest()[:32]
    with writing_cache():
        links.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):  # also where another process was faster: it is the same link
            link.symlink_to(path.parent, target_is_directory=True)
    return link / path.name
