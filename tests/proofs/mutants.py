"""Mutants: a module of the hardware with one thing changed in its text, which a proof must refute."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any
from unittest.mock import patch


def mutant(module: ModuleType, old: str, new: str, below: Sequence[ModuleType] = ()) -> Any:
    """``module``, executed with ``new`` in place of ``old``, which stands in its text exactly once, or in that of one
    of those ``below``, which it imports from."""
    text = inspect.getsource(module)
    for base in below:
        if old in inspect.getsource(base):
            with patch.dict(sys.modules, {base.__name__: mutant(base, old, new)}):
                return _executed(module, text)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {module.__name__}"
    return _executed(module, text.replace(old, new))


def _executed(module: ModuleType, text: str) -> Any:
    changed = ModuleType(f"{module.__name__}_mutant")
    sys.modules[changed.__name__] = changed  # dataclasses look there
    exec(compile(text, changed.__name__, "exec"), changed.__dict__)
    return changed
