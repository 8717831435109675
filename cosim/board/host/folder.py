"""Tables in the folder of the board, in which this one lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import BoardError

FOLDER = Path(__file__).resolve().parents[1]


def memory_map() -> dict[str, Any]:
    """The images of the program's data."""
    return _read("data/memory.json", "base", "bytes", "images")


def tables() -> dict[str, Any]:
    """Names and types of tensors and streams, by their numbers in the driver, and the addresses of registers."""
    read = _read("board.json", "host", "registers")
    return {**read["host"], "registers": read["registers"]}


def image(name: str) -> bytes:
    """The content of ``data/NAME.bin``, which is as long as the memory map says."""
    content, size = _content(f"data/{name}.bin"), memory_map()["bytes"]
    if len(content) != size:
        raise BoardError(f"data/{name}.bin has {len(content):,} bytes, not the {size:,} of data/memory.json")
    return content


def _content(name: str) -> bytes:
    try:
        return (FOLDER / name).read_bytes()
    except OSError as error:
        raise BoardError(f"{name} of the folder can not be read: {error.strerror}") from None


def _read(name: str, *keys: str) -> dict[str, Any]:
    try:
        found = json.loads(_content(name))
        return {key: found[key] for key in keys}
    except (ValueError, TypeError) as error:
        raise BoardError(f"{name} is not as it was written: {error}") from None
    except KeyError as error:
        raise BoardError(f"{name} is not as it was written: it has no {error}") from None
