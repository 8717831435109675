"""Texts with places: files in which ``<NAME>`` stands for what is known later."""

from __future__ import annotations

import re
from pathlib import Path


def filled(path: Path, /, **values: object) -> str:
    """The file ``path`` with ``values``, of which lists are lines: none where they stand alone and are empty."""

    def value(found: re.Match[str]) -> str:
        each, newline = values[found[2]], found[3]
        lines = [str(line) for line in each] if isinstance(each, list) else [str(each)]
        alone = found[1] is not None and newline
        return "".join(f"{line}\n" for line in lines) if alone else "\n".join(lines) + newline

    return re.sub(r"(^)?<(\w+)>(\n?)", value, path.read_text(), flags=re.MULTILINE)
