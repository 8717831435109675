"""Texts of a board's folder: files of ``text/`` with what is this board's in the place of ``<NAME>``."""

from __future__ import annotations

import re
from pathlib import Path

from step.lowering.bus import BusConfig

TEXTS = Path(__file__).parent / "text"


def filled(text: str, /, **values: object) -> str:
    """The file ``text`` with ``values``, of which lists are lines."""

    def value(found: re.Match[str]) -> str:
        each = values[found[1]]
        return "\n".join(each) if isinstance(each, list) else str(each)

    return re.sub(r"<(\w+)>", value, (TEXTS / text).read_text())


def masters_of(bus: BusConfig) -> str:
    """The number of a bus's masters, in words."""
    return f"{bus.masters} AXI4 master{'s' * (bus.masters != 1)}"
