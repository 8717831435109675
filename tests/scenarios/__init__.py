"""Small programs around one operator each, as data: what every back end's tests run.

A file each for a kind of programs; all that lie in this directory are found.
"""

from collections import Counter
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from scenarios.scenario import BROKEN, FABRIC, SCENARIOS, Bench, Broken, Inputs, Scenario, element_value

for _module in sorted(each.name for each in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")


def one_of(share: int) -> list[Any]:
    """All scenarios, as values of a test's parameter; slow are all but one of ``share`` of each operator."""
    played: Counter[str] = Counter()
    found = []
    for each in SCENARIOS:
        slow = played[each.operator] % share
        played[each.operator] += 1
        found.append(pytest.param(each, id=each.name, marks=[pytest.mark.slow] if slow else []))
    return found


__all__ = ["BROKEN", "FABRIC", "SCENARIOS", "Bench", "Broken", "Inputs", "Scenario", "element_value", "one_of"]
