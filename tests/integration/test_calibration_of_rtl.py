"""The formulas of the fast model are what is measured on RTL."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_approx.calibration.file import Calibration
from step.language.function import FUNCTIONS
from step.lowering.fabric import FabricConfig
from step.programs.program import load_program
from step_check.calibration.campaign import Campaign, standard_units

MOE = str(Path(__file__).parents[2] / "examples/moe_simple.py")


def check(campaign: Campaign) -> None:
    """Interval and latency by the formulas, in every firing, and the fast model with them in every token."""
    assert campaign.measured
    for key in campaign.measured:
        unit = campaign.calibration.units[key]
        assert unit.residual == 0, unit
        if key in campaign.formulas:
            assert (unit.interval, unit.latency, unit.spread) == (*campaign.formulas[key], 0), unit


def test_a_function_of_every_family_takes_as_long_as_its_formula_says(tmp_path: Path) -> None:
    """On a small fabric, in one build."""
    fabric = FabricConfig(matmul_lanes=4, vector_lanes=4)
    units, *_ = standard_units(fabric)
    by_family = {}
    for label in units:
        operator, _, name = label.removeprefix("flat_").partition("_")
        by_family.setdefault((operator in ("accum", "scan"), FUNCTIONS[name].__module__), label)
    families = {module for _, module in by_family}
    assert families == {each.__module__ for each in FUNCTIONS.values() if each.__module__.startswith("step.functions.")}
    campaign = Campaign.on(tmp_path / "c.json", [fabric], None)
    campaign.run({label: units[label] for label in by_family.values()})
    check(campaign)


@pytest.mark.slow
def test_everything_takes_as_long_as_its_formula_says(tmp_path: Path) -> None:
    """Every function in every operator that applies it, the memory, and a program of which only units were measured."""
    campaign = Campaign.on(tmp_path / "c.json", [FabricConfig()], None)
    campaign.all([], [])
    check(campaign)
    campaign.all([], [load_program(MOE)])
    found = Calibration.load(tmp_path / "c.json")
    assert found.memory is not None and (found.memory.interval, found.memory.latency) == (1, 24)
    assert (found.held_out["moe_simple"].mismatches, found.held_out["moe_simple"].error) == (0, 0.0)
