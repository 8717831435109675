"""Functions for Map, Accum and FlatMap; every module of this package registers its own."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from step.host.extensions import exported, load_all
from step.language.function import FUNCTIONS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

globals().update({cls.__name__: cls for cls in FUNCTIONS.values()})
__all__ = sorted(cls.__name__ for cls in FUNCTIONS.values())


def __getattr__(name: str) -> Any:
    """A class of another package, which is imported when somebody asks for it."""
    return exported(FUNCTIONS, name, __name__)


def __dir__() -> list[str]:
    """With all that other packages have."""
    load_all(__name__)
    return sorted(cls.__name__ for cls in FUNCTIONS.values())
