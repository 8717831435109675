"""Where in the user's program something was written."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


@dataclass(frozen=True)
class Location:
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


UNKNOWN_LOCATION = Location("<unknown>", 0)


def caller_location() -> Location:
    """The innermost line on the call stack that is not of this package.

    Files below the working directory are named relative to it, so that results do not depend on where a
    project lies.
    """
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) and not file.startswith("<"):
            path = os.path.relpath(file)
            return Location(file if path.startswith("..") else path, frame.f_lineno)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return UNKNOWN_LOCATION
