"""Energy of one operation, or one bit: published figures, or a table of the user's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from step.errors import FormatError, expect
from step.host.names import unknown
from step.host.paths import named_file
from step.programs.files.json_file import read_json

PUBLISHED = Path(__file__).with_name("figures.json")


@dataclass(frozen=True)
class Figure:
    """So many ``picojoules`` for one ``per``, in a ``technology``, as the ``source`` says."""

    picojoules: float
    per: str
    technology: str
    source: str


Figures = Mapping[str, Figure]


@cache
def published() -> Figures:
    """The table that comes with the toolkit."""
    return {name: Figure(**each) for name, each in json.loads(PUBLISHED.read_text()).items()}


def figures(path: Path | str | None = None) -> Figures:
    """The published figures, those in the file ``path`` in their place.

    Raises `FormatError` for a file that is no table of figures (`step schema energies`), and for a name that is not
    there.
    """
    if path is None:
        return published()
    found, known = read_json(named_file(path, "a table of energies"), "energies")["figures"], published()
    for name in found:
        expect(name in known, f"{path}: {unknown('figure', name, known)}", FormatError)
    return {**known, **{name: replace(known[name], **each) for name, each in found.items()}}
