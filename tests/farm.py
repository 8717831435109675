"""Many small programs side by side in one graph, so that one build of the simulator serves them all."""

from __future__ import annotations

from collections.abc import Iterable

from scenarios import FABRIC, Scenario

from step.programs.program import Program
from step_check.fuzz.farm import side_by_side


def farm(name: str, scenarios: Iterable[Scenario]) -> Program:
    """One program that holds the programs of all ``scenarios``; their names get the prefix ``sN_``."""
    return Program(*side_by_side(name, [each.build for each in scenarios]), FABRIC)
