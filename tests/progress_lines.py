"""Progress: what a process told on stderr, however slow the machine was, and Ctrl-C at some of it."""

from __future__ import annotations

import re
from collections.abc import Callable


def without_progress(err: str) -> str:
    """``err`` but for the lines that say what takes long."""
    return re.sub(r"^.* \(\d+ s\)\n", "", err, flags=re.MULTILINE)


def interrupting(start: str) -> Callable[[str], None]:
    """Progress that is interrupted when its text begins with ``start``."""

    def told(text: str) -> None:
        if text.startswith(start):
            raise KeyboardInterrupt

    return told
