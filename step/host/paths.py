"""Names of files as users give them."""

from __future__ import annotations

import os
from pathlib import Path

from step.errors import FormatError, InputError, expect

LONGEST_NAME = 255
"""Bytes in the name of a file."""


def named_file(name: object, what: str = "a file", *endings: str) -> Path:
    """``name`` as the path of ``what``, which has to end in one of ``endings`` if there are any.

    Raises `InputError` for what is no name of a file.
    """
    if not isinstance(name, str | os.PathLike) or not isinstance(os.fspath(name), str):
        raise InputError(f"{what} must be given by its name, a text or a Path, not {name!r}")
    path, text = Path(name), os.fspath(name)
    if not text or "\0" in text or any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise InputError(f"no file can be called {text if len(text) < 80 else text[:80] + '...'!r}")
    if endings and path.suffix not in endings:
        raise InputError(f"{what} must go to a file that ends in {' or '.join(endings)}, not {text!r}")
    return path


def check_readable(path: Path) -> None:
    """Raise `FormatError` unless ``path`` is a file: what is something else would be waited for, or is no text."""
    if path.is_file():
        return
    kinds = {"directory": path.is_dir(), "pipe": path.is_fifo(), "device or socket": path.exists()}
    for kind, found in kinds.items():
        expect(not found, f"'{path}' is a {kind}, but must be a file", FormatError)
    raise FormatError(f"there is no file '{path}'")
