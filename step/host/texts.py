"""Texts of folders: files in which ``<NAME>`` stands for what is known later, and files as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def filled(path: Path, /, **values: object) -> str:
    """The file ``path`` with ``values``, of which lists are lines: none where they stand alone and are empty."""

    def value(found: re.Match[str]) -> str:
        each, newline = values[found[2]], found[3]
        lines = [str(line) for line in each] if isinstance(each, list) else [str(each)]
        alone = found[1] is not None and newline
        return "".join(f"{line}\n" for line in lines) if alone else "\n".join(lines) + newline

    return re.sub(r"(^)?<(\w+)>(\n?)", value, path.read_text(), flags=re.MULTILINE)


def copied(source: Path, directory: str) -> dict[str, str]:
    """The files of the folder ``source``, by their names in ``directory``."""
    return {f"{directory}/{each.name}": each.read_text() for each in sorted(source.iterdir()) if each.is_file()}


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` into ``directory``, by their names there."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
