"""`.pt2` files with something wrong, made of one that is right."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = "archive/models/model.json"

Members = dict[str, bytes]


def rewritten(path: Path, into: Path, change: Callable[[Members], None]) -> Path:
    """``path`` as ``into``, with its members changed."""
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    change(members)
    with zipfile.ZipFile(into, "w") as written:
        for name, data in members.items():
            written.writestr(name, data)
    return into


def edited(path: Path, into: Path, change: Callable[[Any], None], member: str = MODEL) -> Path:
    """``path`` as ``into``, with one member, JSON, changed."""

    def edit(members: Members) -> None:
        data = json.loads(members[member])
        change(data)
        members[member] = json.dumps(data).encode()

    return rewritten(path, into, edit)
