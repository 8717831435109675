"""The operators, one file each; every module of this package registers its own."""

from __future__ import annotations

import importlib
import pkgutil

from step.language.operator import OPERATORS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

globals().update({cls.__name__: cls for cls in OPERATORS.values()})
__all__ = sorted(cls.__name__ for cls in OPERATORS.values())
