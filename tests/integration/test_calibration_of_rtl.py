"""Every operator and function takes as long in RTL as its plan says."""

from __future__ import annotations

import pytest

from step.language.function import FUNCTIONS
from step.lowering.fabric import FabricConfig
from step_check.calibration import UnitBench, bench_of_units, standard_benches
from step_check.fuzz.units import StandardUnit, units

pytestmark = pytest.mark.large

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=4)


def test_a_function_of_every_family_takes_as_long_as_its_plan_says() -> None:
    """As a reduction, and not, and every operator without one, in one build."""
    found: dict[object, StandardUnit] = {}
    for unit in units(1):
        family = unit.function and (unit.function.__module__, unit.operator.name in ("accum", "scan"))
        found.setdefault(family or unit.operator.name, unit)
    families = {each.function.__module__ for each in found.values() if each.function is not None}
    assert families == {each.__module__ for each in FUNCTIONS.values() if each.__module__.startswith("step.functions.")}
    check(bench_of_units([*found.values()], FABRIC))


@pytest.mark.slow
@pytest.mark.parametrize("fabric", [FABRIC, FabricConfig()], ids=["small", "default"])
def test_everything_takes_as_long_as_its_plan_says(fabric: FabricConfig) -> None:
    for bench in standard_benches(fabric):
        check(bench)


def check(bench: UnitBench) -> None:
    found = bench.measure()
    assert found and [each for each in found if not each.agrees] == []
