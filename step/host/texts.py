"""Texts of folders: templates of Jinja, and files as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def filled(path: Path, /, **values: object) -> str:
    """The template ``path``, in which ``${NAME}`` stands for one of ``values``; ``commas`` parts the lines of a block.

    Raises `jinja2.UndefinedError` for a name without a value.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    lines = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    marks = {"variable_start_string": "${", "variable_end_string": "}"}
    environment = Environment(loader=FileSystemLoader(path.parent), undefined=StrictUndefined, **lines, **marks)
    environment.filters["commas"] = lambda block: block.rstrip().replace("\n", ",\n") + "\n"
    return environment.get_template(path.name).render(values)


def copied(source: Path, directory: str) -> dict[str, str]:
    """The files of the folder ``source``, by their names in ``directory``."""
    return {f"{directory}/{each.name}": each.read_text() for each in sorted(source.iterdir()) if each.is_file()}


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` into ``directory``, by their names there."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
