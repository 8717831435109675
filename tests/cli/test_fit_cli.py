"""``step fit`` and ``--fitted``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanding import Step

from step import load_program
from step.programs.files.fitted import FittedFile

SIMPLE = "examples/softmax.py"


def test_a_fit_and_its_file(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "fabric.json"
    result = step("fit", SIMPLE, "--within", "5%", "--save", path, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["fitted"]["lut_sites"] < found["asked"]["lut_sites"]
    assert found["fitted"]["cycles"] <= 1.05 * found["asked"]["cycles"]
    ran = step("run", SIMPLE, "--backend", "approx", "--fitted", path, "--json")
    assert ran.code == 0 and json.loads(ran.out)["cycles"] == found["fitted"]["cycles"]
    other = step("run", "examples/swiglu.py", "--backend", "approx", "--fitted", path).failed()
    program = found["program"]
    assert other.startswith(f"error: {path}: the fabric was fitted to another program called {program}, or to ")


@pytest.mark.parametrize("goal", ["luts", "cycles"])
def test_a_goal_that_nothing_reaches(step: Step, goal: str) -> None:
    """The nearest is told, of cycles with all lanes."""
    err = step("fit", SIMPLE, f"--{goal}", "10").failed()
    assert f"error: nothing that was found for softmax fits {goal}=10; the nearest needs {goal}=" in err


def test_a_sweep_has_the_depths_of_the_file(step: Step, tmp_path: Path) -> None:
    program, path = load_program("examples/moe_simple.py"), tmp_path / "fabric.json"
    FittedFile.of(program, program.fabric, {"expert0_kept.0": 2}, 300, {}).save(path)
    asked = ("sweep", "examples/moe_simple.py", "--over", "fabric.stages=4", "--jobs", "1", "--json")
    results = [step(*asked), step(*asked, "--fitted", path)]
    assert [json.loads(each.out)[0]["cycles"] for each in results] == [301, 300]
