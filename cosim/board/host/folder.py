"""Tables in the folder of the board, in which this one lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import BoardError

FOLDER = Path(__file__).resolve().parents[1]


def memory_map() -> dict[str, Any]:
    """The images of the program's data."""
    return _read("data/memory.json")


def tables() -> dict[str, Any]:
    """Names and types of tensors and streams, by their numbers in the driver, and the addresses of registers."""
    read = _read("board.json")
    return {**read["host"], "registers": read["registers"]}


def image(name: str) -> bytes:
    """The content of ``data/NAME.bin``, which is as long as the memory map says."""
    content, size = (FOLDER / "data" / f"{name}.bin").read_bytes(), memory_map()["bytes"]
    if len(content) != size:
        raise BoardError(f"data/{name}.bin has {len(content):,} bytes, not the {size:,} of data/memory.json")
    return content


def _read(name: str) -> dict[str, Any]:
    try:
        return dict(json.loads((FOLDER / name).read_text()))
    except ValueError as error:
        raise BoardError(f"{name} is not as it was written: {error}") from None
