"""Small programs around one operator each, as data: what every back end's tests run.

A file each for a kind of programs; all that lie in this directory are found.
"""

from importlib import import_module
from pkgutil import iter_modules

from scenarios.scenario import BROKEN, FABRIC, SCENARIOS, Bench, Broken, Inputs, Scenario, element_value

for _module in sorted(each.name for each in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["BROKEN", "FABRIC", "SCENARIOS", "Bench", "Broken", "Inputs", "Scenario", "element_value"]
