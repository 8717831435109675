"""What a process told on stderr, however slow the machine was."""

from __future__ import annotations

import re


def without_progress(err: str) -> str:
    """``err`` but for the lines that say what takes long."""
    return re.sub(r"^.* \(\d+ s\)\n", "", err, flags=re.MULTILINE)
