"""Files that a test begins with."""

from __future__ import annotations

from pathlib import Path


def filed(path: Path, text: str) -> Path:
    """The file at ``path``, which has this ``text``."""
    path.write_text(text)
    return path
