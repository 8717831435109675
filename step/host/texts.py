"""Texts of folders: templates of Jinja, and files as they are."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


def filled(path: Path, /, **values: object) -> str:
    """The template ``path`` with ``values`` in the place of ``${NAME}``.

    Filters besides those of Jinja: ``commas`` parts the lines of a block, and ``e`` writes text in HTML. Raises
    `jinja2.UndefinedError` for a name without a value.
    """
    return _environment(path.parent).get_template(path.name).render(values)


@cache
def _environment(folder: Path) -> Any:
    """Reader of the templates of ``folder``, each of them once; none is read where no text is written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        variable_start_string="${",
        variable_end_string="}",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "commas": lambda block: block.rstrip().replace("\n", ",\n") + "\n",
        "e": lambda value: html.escape(str(value)),
    }
    return environment


def copied(source: Path, directory: str) -> dict[str, str]:
    """The files of the folder ``source``, by their names in ``directory``."""
    return {f"{directory}/{each.name}": each.read_text() for each in sorted(source.iterdir()) if each.is_file()}


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` into ``directory``, by their names there."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
