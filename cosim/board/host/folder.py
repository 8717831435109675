"""What the folder of the board says, in which this one lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1]


def memory_map() -> dict[str, Any]:
    """The images of the program's data."""
    return dict(json.loads((FOLDER / "data" / "memory.json").read_text()))


def tables() -> dict[str, Any]:
    """Names and types of tensors and streams, by their numbers in the driver."""
    return dict(json.loads((FOLDER / "board.json").read_text())["host"])
