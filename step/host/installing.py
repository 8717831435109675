"""Folders that a command writes, and may write again: what it left there before goes, what others put there stays,
and is never written over.

The manifest beside the files has the line of ``sha256sum`` for each of them, so ``sha256sum -c`` checks a folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from step.errors import InputError
from step.host.files import write_atomically

MANIFEST = "manifest.sha256"

Line = tuple[str, str]
"""Digest of a file, and its name relative to the folder."""


@contextmanager
def installing(directory: Path, last: str) -> Iterator[Path]:
    """An empty folder, whose files become those of ``directory`` when the body is over; after an exception none does.

    A ``directory`` that is new appears at once. In one that exists the file called ``last`` is gone until all others
    are there. A file of an earlier time goes, unless somebody changed it since. Raises `InputError` for one that would
    be written over although it was changed, or never written here.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    beside = directory if directory.is_dir() else directory.parent
    staged = Path(tempfile.mkdtemp(dir=beside, prefix=f".{directory.name}."))
    try:
        staged.chmod(0o755)
        yield staged
        files = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
        lines = [(_digest(staged / name), name) for name in files]
        write_atomically(staged / MANIFEST, _text(lines))
        if not directory.exists():
            with suppress(OSError):  # somebody else was faster
                os.rename(staged, directory)
                return
        _replace(directory, staged, lines, last)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _replace(directory: Path, staged: Path, lines: list[Line], last: str) -> None:
    old = _read(directory / MANIFEST)
    for line in lines:
        path = directory / line[1]
        if path.is_file() and (_digest(path), line[1]) not in {*old, line}:
            raise InputError(f"{path} was changed, or is of somebody else: move it away, or choose another folder")
    # Known of both, until the old ones are gone and the new ones are there, whatever happens in between.
    write_atomically(directory / MANIFEST, _text(dict.fromkeys([*old, *lines])))
    (directory / last).unlink(missing_ok=True)
    names = {name for _, name in lines}
    for digest, name in old:
        path = directory / name
        if name not in names and path.is_file() and _digest(path) == digest:
            path.unlink()
            if path.parent != directory and not any(path.parent.iterdir()):
                path.parent.rmdir()
    for name in sorted(names, key=lambda each: (each == last, each)):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged / name, directory / name)
    os.replace(staged / MANIFEST, directory / MANIFEST)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text(lines: Iterable[Line]) -> bytes:
    return "".join(f"{digest}  {name}\n" for digest, name in lines).encode()


def _read(manifest: Path) -> list[Line]:
    """The lines of ``manifest``; none of another text, nor of a file that is not in the folder."""
    try:
        text = manifest.read_text()
    except (OSError, UnicodeDecodeError):
        return []
    found = re.findall(r"^([0-9a-f]{64})  (.+)$", text, re.MULTILINE)
    return [line for line in found if not (path := PurePosixPath(line[1])).is_absolute() and ".." not in path.parts]
