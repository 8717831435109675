"""Files that a test begins with, and machines whose rules they have."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from step.firing.machine import Machine


def filed(path: Path, text: str) -> Path:
    """The file at ``path``, which has this ``text``."""
    path.write_text(text)
    return path


def fake_compiler(folder: Path, script: str) -> str:
    """A compiler in ``folder`` that does what the shell ``script`` says, whose last argument is the library."""
    path = filed(folder / "g++", f"#!/bin/sh\n[ $1 = --version ] && exit 0\nfor last; do true; done\n{script}\n")
    path.chmod(0o755)
    return str(path)


def machine(path: Path, text: str) -> type[Machine]:
    """The machine ``Odd`` of the file at ``path``, which has this ``text``, and is there for who reads rules."""
    filed(path, text)
    linecache.checkcache()
    module: Any = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(text, str(path), "exec"), vars(module))
    found: type[Machine] = module.Odd
    return found
