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


def dealt(hands: int) -> list[list[Scenario]]:
    """All scenarios in so many hands, those of an operator to one after the other: the first has some of all."""
    played: Counter[str] = Counter()
    found: list[list[Scenario]] = [[] for _ in range(hands)]
    for each in SCENARIOS:
        found[played[each.operator] % hands].append(each)
        played[each.operator] += 1
    return found


def one_of(share: int) -> list[Any]:
    """All scenarios, as values of a test's parameter; slow are all but one of ``share`` of each operator."""
    quick = dealt(share)[0]
    return [pytest.param(each, id=each.name, marks=[] if each in quick else [pytest.mark.slow]) for each in SCENARIOS]


__all__ = ["BROKEN", "FABRIC", "SCENARIOS", "Bench", "Broken", "Inputs", "Scenario", "dealt", "element_value", "one_of"]
