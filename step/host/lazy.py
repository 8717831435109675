"""Exports of a package that are imported when they are used, so that light commands start fast."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from step.errors import needing


def exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of ``package``, whose stub beside ``file`` lists what it exports.

    Each line of the stub is ``from MODULE import NAME as NAME``. An export whose module needs something that is not
    installed raises `EnvironmentProblem`.
    """
    modules = {
        alias.name: each.module
        for each in ast.parse(Path(file).with_suffix(".pyi").read_text()).body
        if isinstance(each, ast.ImportFrom) and each.module is not None
        for alias in each.names
    }
    names = sorted(modules)

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needing(f"{package}.{name}"):
            module = import_module(modules[name])
        found = vars(module)[name] if name in vars(module) else import_module(f"{module.__name__}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: names, names
