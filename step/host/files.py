"""Files: the cache directory, and writing them as a whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from step.errors import EnvironmentProblem, InputError, SettingError
from step.host.sizes import cache_limit

FULL = (errno.ENOSPC, errno.EDQUOT)
ROOM = 1 << 16
"""Free bytes below which a disk is full."""

_LOCKED = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Context in which a failure to write ``path`` is an `InputError`; its directory has to be there."""
    try:
        check_writable(path)
        yield
    except OSError as error:
        raise InputError(f"{path} can not be written: {error.strerror}") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader, or a crash, never sees a part of it."""
    write_together({path: data})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, none before all of them have room. What is a pipe or a device is written to as it is."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, data in contents.items():
            if path.exists() and not path.is_file() and not path.is_dir():
                path.write_bytes(data)
                continue
            target = path.resolve()  # a link stays
            temporary = _beside(target)
            written.append((temporary, target))
            temporary.write_bytes(data)
        for temporary, target in written:
            os.replace(temporary, target)
    except BaseException:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Raise `OSError` where `write_atomically` could not write ``path``."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.is_file() or not path.exists():
        temporary = _beside(path.resolve())
        temporary.touch()
        temporary.unlink()


def _beside(path: Path) -> Path:
    """Temporary file for ``path``, in its directory, which has to be there."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no directory '{path.parent}'", str(path))
    return path.with_name(f".{path.name[:200]}.{os.getpid()}.{threading.get_ident()}")


def cache_directory() -> Path:
    """``STEP_CACHE``, or ``~/.cache/step-fabric``; made where it is missing.

    Raises `EnvironmentProblem` where it can not be written, and `SettingError` for a name with a blank (make can not
    build there) and for a limit of its size that is none.
    """
    cache_limit()
    chosen = os.environ.get("STEP_CACHE")
    path = Path(chosen) if chosen else _home() / ".cache" / "step-fabric"
    path = path.absolute()
    if any(character.isspace() for character in str(path)):
        raise SettingError(f"the cache {str(path)!r} has a blank in its name: set STEP_CACHE to a path without")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(f"the cache {path} can not be made ({error.strerror}): set STEP_CACHE") from None
    return path


def _home() -> Path:
    try:
        home = Path.home() if os.environ.get("HOME") != "" else None
    except RuntimeError:  # nobody has this user's number
        home = None
    if home is None:
        raise EnvironmentProblem("there is no home directory to keep the cache in: set STEP_CACHE to a directory")
    return home


@contextmanager
def writing_cache() -> Iterator[None]:
    """A cache that is full or can not be written is an `EnvironmentProblem`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(cache_directory()) from None
        if error.errno in _LOCKED:
            raise EnvironmentProblem(
                f"the cache {cache_directory()} can not be written ({error.strerror}): set STEP_CACHE"
            ) from None
        raise


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Context in which no other process has the file ``path`` locked; without ``wait`` `OSError` where one has."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def has_room(directory: Path) -> bool:
    """Whether more can be written in ``directory``."""
    return shutil.disk_usage(directory).free >= ROOM


def full_disk(path: Path, otherwise: str = "set STEP_CACHE to another place") -> EnvironmentProblem:
    """The error for a disk that has no room for ``path``; ``otherwise``: what to do where none can be made."""
    return EnvironmentProblem(f"the disk is full, where {path} is: make room there, or {otherwise}")


def tool_environment() -> dict[str, str]:
    """The environment of tools that have caches of their own: they keep them in ours, wherever HOME is."""
    return {**os.environ, "XDG_CACHE_HOME": str(cache_directory() / "tools")}
