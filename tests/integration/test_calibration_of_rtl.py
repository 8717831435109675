"""Every operator and function takes as long in RTL as its plan says."""

from __future__ import annotations

import pytest

from step.lowering.fabric import FabricConfig
from step_check.calibration import UnitBench, standard_benches

FABRIC = FabricConfig(matmul_lanes=4, vector_lanes=4)


def test_a_function_of_every_family_takes_as_long_as_its_plan_says() -> None:
    """In one build, for values of one row of numbers."""
    check(next(standard_benches(FABRIC)))


@pytest.mark.slow
@pytest.mark.parametrize("fabric", [FABRIC, FabricConfig()], ids=["small", "default"])
def test_everything_takes_as_long_as_its_plan_says(fabric: FabricConfig) -> None:
    for bench in standard_benches(fabric):
        check(bench)


def check(bench: UnitBench) -> None:
    found = bench.measure()
    assert len(found) > 70 and [each for each in found if not each.agrees] == []
