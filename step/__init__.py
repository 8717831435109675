"""Streaming tensor programs: the language, and the front door of the toolkit.

A program is a `Graph` of operators joined by streams of tiles with stop tokens. `interpret` says what it means,
`metrics` what it costs; `run` times it and simulates its RTL.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_EXPORTS = {
    alias.name: each.module
    for each in ast.parse(Path(__file__).with_suffix(".pyi").read_text()).body
    if isinstance(each, ast.ImportFrom) and each.module is not None
    for alias in each.names
}
"""Modules by the names that the stub exports from them: imported when they are used, as a command needs few of them."""

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_EXPORTS[name])
    except ModuleNotFoundError as error:
        from step.errors import missing_module

        raise missing_module(error, f"step.{name}") from None
    found = vars(module)[name] if name in vars(module) else import_module(f"{module.__name__}.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
