"""Locations in the user's program."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_FLOORS = tuple(
    str(Path(__file__).parents[2] / floor) + os.sep
    for floor in (
        *("step", "step_models", "hw", "sim_approx", "cosim", "step_explore", "step_check", "step_show", "step_torch"),
        *("step_cli", "evaluation/sim_published"),
    )
)
_OTHERS = tuple(
    sysconfig.get_path(which) + os.sep for which in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
)

_INSTALLED = f"{os.sep}site-packages{os.sep}"  # also where another environment is on the path
_CELL = "Cell "

MOST_FRAMES = 8
"""Lines of a traceback that are shown; of a longer one those at both ends."""


@dataclass(frozen=True)
class Location:
    """Line of a source file.

    ``file``: its name, relative to the working directory where it is below that; "Cell 3" in a notebook.
    ``line``: its number, from 1 on.

    >>> print(step.Location("moe.py", 12))
    moe.py:12
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}{', line ' if self.file.startswith(_CELL) else ':'}{self.line}"

    @classmethod
    def read(cls, text: str) -> Location:
        """The location that is written as ``text``, or `UNKNOWN_LOCATION`.

        >>> step.Location.read("Cell 3, line 5").line
        5
        """
        found = re.fullmatch(r"(.*)(?::|, line )(\d+)", text, re.DOTALL)
        return cls(found[1], int(found[2])) if found else UNKNOWN_LOCATION


UNKNOWN_LOCATION = Location("<unknown>", 0)


def caller_location() -> Location:
    """The innermost line on the call stack that is not of this package.

    Files below the working directory are named relative to it, so that results do not depend on where a
    project lies.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<")):
            return _location(file, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN_LOCATION


def line_of_user(frame: FrameType) -> Location | None:
    """Location of ``frame``, if that is in a file of the user: not of this project, of Python or of a package.

    Python's own on the way there (`dataclasses.replace`) are left out. What is typed in a session has no file.
    """
    while frame.f_code.co_filename.startswith(("<string>", *_OTHERS)) and frame.f_back is not None:
        frame = frame.f_back
    return _location(frame.f_code.co_filename, frame.f_lineno) if is_of_user(frame) else None


def is_of_user(frame: FrameType) -> bool:
    """Whether ``frame`` is in a file of the user."""
    return _is_file_of_user(frame.f_code.co_filename)


def _is_file_of_user(file: str) -> bool:
    return _INSTALLED not in file and not file.startswith(("<", *_FLOORS, *_OTHERS))


def raised_at(error: BaseException) -> list[tuple[Location, str]]:
    """The lines of the user's own files that led to ``error``, the outermost first, each as its place and text.

    Those of this project, of Python and of installed packages are left out. A `SyntaxError` is also where it points.
    """
    found = [
        (_location(frame.filename, frame.lineno or 0), f"in {frame.name}: {frame.line}")
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_file_of_user(frame.filename)
    ]
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        found.append((_location(error.filename, error.lineno), (error.text or "").strip()))
    return found


def where_raised(error: BaseException) -> str:
    """`raised_at` as lines of text, each with a line break in front of it; the middle of a long one is left out."""
    lines = [f"\n  {place}, {text}" if text else f"\n  {place}" for place, text in raised_at(error)]
    if len(lines) > MOST_FRAMES:
        half = MOST_FRAMES // 2
        lines[half:-half] = [f"\n  ... {len(lines) - MOST_FRAMES} more ..."]
    return "".join(lines)


def _location(file: str, line: int) -> Location:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and (cell := shell.compile.format_code_name(file)) is not None:
        return Location(_CELL + cell[1].strip("In[]"), line)
    path = os.path.relpath(file)
    return Location(file if path.startswith("..") else path, line)
