"""Mutants: a module of the hardware with one thing changed in its text, which a proof must refute."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


def mutant(module: ModuleType, old: str, new: str) -> Any:
    """``module``, executed with ``new`` in place of ``old``, which stands in its text exactly once."""
    text = inspect.getsource(module)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {module.__name__}"
    changed = ModuleType(f"{module.__name__}_mutant")
    sys.modules[changed.__name__] = changed  # dataclasses look there
    exec(compile(text.replace(old, new), changed.__name__, "exec"), changed.__dict__)
    return changed
