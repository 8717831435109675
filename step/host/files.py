"""Where files are kept, and writing them as a whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from step.errors import EnvironmentProblem


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader, or a crash, never sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cache_directory() -> Path:
    """``STEP_CACHE``, or ``~/.cache/step-fabric``; made where it is missing.

    Raises `EnvironmentProblem` where it can not be written, or has a blank in its name (make can not build there).
    """
    chosen = os.environ.get("STEP_CACHE")
    path = Path(chosen) if chosen else Path.home() / ".cache" / "step-fabric"
    path = path.absolute()
    if any(character.isspace() for character in str(path)):
        raise EnvironmentProblem(f"the cache {str(path)!r} has a blank in its name: set STEP_CACHE to a path without")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"the cache {path} can not be made ({error.strerror}): set STEP_CACHE") from None
    return path
