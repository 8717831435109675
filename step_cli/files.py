"""Files that verbs read and write: what is wrong with one is told before the work, not after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from step.errors import InputError
from step.host.figures import drawn
from step.host.files import write_atomically, writing
from step.host.installing import installing
from step.programs.files.json_file import json_bytes


def check_kept(context: click.Context) -> None:
    """Raises `InputError` where the file of a program, or of its inputs, is that of another option, which may write
    it."""
    values = context.params
    programs = [values[name] for name in ("program", "programs") if name in values]
    read = [("PROGRAM", Path(each.partition(":")[0])) for each in _listed(programs)]
    read += [("--inputs", each) for each in _listed([values.get("inputs")])]
    for option in context.command.params:
        path, name = values.get(option.name or ""), option.opts[-1]
        if isinstance(path, Path) and path.is_file():
            for what in (what for what, other in read if what != name and other.is_file() and path.samefile(other)):
                raise InputError(f"{path} can not be both {what} and {name}: choose another file for one of them")


def _listed(values: list[Any]) -> Iterator[Any]:
    """Each of ``values``, and each of those that are several."""
    for value in values:
        yield from value if isinstance(value, tuple) else () if value is None else (value,)


def writable(path: Path) -> Path:
    """``path``; raises `InputError` where it can not be written."""
    with writing(path):
        return path


@contextmanager
def writing_folder(output: Path, last: str) -> Iterator[Path]:
    """`installing`; what keeps ``output`` from being written is an `InputError`."""
    with writing(output / last if output.is_dir() else output), installing(output, last=last) as staged:
        yield staged


def save(path: Path, data: bytes | str) -> None:
    """Write ``data`` to ``path``; raises `InputError` where it can not be written."""
    with writing(path):
        write_atomically(path, data if isinstance(data, bytes) else data.encode())


def save_picture(draw: Callable[[Any], None], size: tuple[float, float], path: Path) -> None:
    """Write the picture that ``draw`` makes of a figure of this ``size`` in inches."""
    save(path, drawn(draw, size, path.suffix[1:]))


def save_json(path: Path, data: Any) -> None:
    """Write plain data to ``path``."""
    save(path, json_bytes(data))
