"""``step synth --mhz``: registers where the slowest paths are, by clocks that are made up, and once by nextpnr."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commanding import Step
from commanding import program as named

from cosim.synthesis import closing
from cosim.synthesis.cells import Cells
from cosim.synthesis.closing import close
from cosim.synthesis.families.ecp5 import Ecp5, Ecp5Area
from cosim.synthesis.report import ClockResult, Component, Report
from step.functions import Exp
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist
from step.programs.files.fitted import FittedFile
from step.programs.program import Program, load_program

tiny = named("tiny")

AREA: Cells = Ecp5Area()


def chain() -> Program:
    """An exponential between a source and a sink."""
    graph = Graph("chain")
    graph.source("x", Tile(FP32), [3]).map(Exp(), name="exp").sink("y")
    return Program(graph, {"x": np.ones((3, 1, 1))})


def clocked(monkeypatch: pytest.MonkeyPatch, unit: Any, whole: Any) -> None:
    """Clocks of the unit ``exp`` and of the whole, with the parts of their slowest paths, by the fabric; behind these
    may be when parts are reached."""

    def measure(netlist: Netlist, family: Ecp5, *, whole: bool = True, progress: Any) -> Report:
        def clock(made: Any) -> ClockResult:
            megahertz, path, *arrivals = made(netlist.fabric)
            return ClockResult((megahertz,), path, ("first", "last"), *arrivals)

        exp = Component("exp", "map", "exp_module", AREA, clock(unit))
        return Report(netlist.graph.name, family, (exp,), (), AREA, clock(of_whole) if whole else None)

    of_whole = whole
    monkeypatch.setattr(closing, "measure", measure)


def test_channels_get_hops_and_arithmetic_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """First the unit alone, then the whole; a path through a channel has a hop there, one of arithmetic a stage."""

    def unit(fabric: FabricConfig) -> tuple[float, tuple[str, ...]]:
        return 80.0 + 10 * fabric.cuts.get("exp", 4), ("exp",)

    def whole(fabric: FabricConfig) -> tuple[float, tuple[str, ...]]:
        return 100.0 + 20 * min(fabric.hops.get("x", 0), fabric.hops.get("exp", 0)), ("channel x", "exp", "channel exp")

    clocked(monkeypatch, unit, whole)
    found = close(chain(), Ecp5(), 125)
    assert found.missed is None and found.program.fabric == FabricConfig(cuts={"exp": 5}, hops={"x": 2, "exp": 2})
    assert found.changed == (
        "cuts.exp=5: exp has 120.0 of 125 MHz, from first to last",
        "hops.x=1: chain has 100.0 of 125 MHz, from first to last",
        "hops.exp=1: chain has 100.0 of 125 MHz, from first to last",
        "hops.x=2: chain has 120.0 of 125 MHz, from first to last",
        "hops.exp=2: chain has 120.0 of 125 MHz, from first to last",
    )


def test_all_arithmetic_that_is_late_has_a_stage_in_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is reached in time, and none without a register in the slowest path."""

    def whole(fabric: FabricConfig) -> tuple[float, tuple[str, ...], dict[str, float]]:
        return 80.0 + 20 * fabric.hops.get("x", 0), ("channel x",), {"exp": 12.5 - fabric.hops.get("x", 0), "x": 13}

    clocked(monkeypatch, lambda fabric: (200.0, ()), whole)
    found = close(chain(), Ecp5(), 120)
    assert found.missed is None and found.program.fabric == FabricConfig(cuts={"exp": 6}, hops={"x": 2})
    assert close(chain(), Ecp5(), 85).program.fabric == FabricConfig(cuts={"exp": 5}, hops={"x": 1})
    assert close(chain(), Ecp5(), 79).program.fabric == FabricConfig()


@pytest.mark.parametrize("path", [("exp",), ("x",), ("channel x",), ("channel x", "exp")])
def test_a_path_that_nothing_cuts_is_told(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponential has eight cuts at most, a source none; a channel has two hops at most."""
    clocked(monkeypatch, lambda fabric: (200.0, ()), lambda fabric: (90.0, path))
    found = close(chain(), Ecp5(), 100)
    assert found.missed == "chain has 90.0 of 100 MHz, from first to last"
    assert found.program.fabric.cuts == ({"exp": 8} if "exp" in path else {})
    assert found.program.fabric.hops == ({"x": 2} if "channel x" in path else {})


def test_the_file_has_all_that_the_program_was_given(
    step: Step, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what another file and ``--set`` say: who reads it needs neither."""
    clocked(
        monkeypatch, lambda fabric: (200.0, ()), lambda fabric: (90.0 + 20 * fabric.hops.get("x", 0), ("channel x",))
    )
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    made = load_program(str(tiny))
    FittedFile.of(made, replace(made.fabric, link_bytes=16), {"x": 3}, 7, {"lut_sites": 1}).save(before)
    step("synth", tiny, "--fitted", before, "--set", "fabric.stages=3", "--mhz", "100", "--save", after).ok()
    found = FittedFile.load(after)
    assert found.settings == {
        "fabric.link_bytes": 16,
        "fabric.mhz": 100,
        "fabric.stages": 3,
        "hops.x": 1,
    } and found.depths == {"x": 3}
    assert f"{found.cycles} cycles" in step("run", tiny, "--backend", "approx", "--fitted", after).ok()


@pytest.mark.large
def test_a_clock_is_met_or_the_path_is_told(step: Step, tiny: Path, tmp_path: Path) -> None:
    """Nothing reaches a gigahertz, and the slowest path is told first; what is met is a fabric for other verbs."""
    file = tmp_path / "fabric.json"
    out = step("synth", tiny, "--mhz", "60", "--save", file).ok().splitlines()
    assert out[-2:] == ["tiny takes 7 cycles with these registers, 7 without", f"written: {file}"]
    assert json.loads(file.read_text())["settings"] == {"fabric.mhz": 60}
    assert "7 cycles" in step("run", tiny, "--backend", "approx", "--fitted", file).ok()
    file.unlink()
    code, text, err = step("synth", tiny, "--mhz", "1GHz", "--save", file)
    assert code == 1 and err.startswith("error: no register is left for the slowest path: ") and not file.exists()
    paths = dict(re.findall(r"slowest path of (\w+): (.+)\n", text))
    clocks = {part: int(mhz) for part, mhz in re.findall(r"^(x|up|y) .* (\d+)$", text, re.MULTILINE)}
    assert [*paths] == sorted(clocks, key=clocks.__getitem__) and len(paths) == 3 and all(paths.values()), text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--mhz", "90", "--no-place"],
         "--mhz places on an ecp5: leave out --no-place, --estimate and other families"),
        (["--save", "fabric.json"], "--save is for the fabric that --mhz finds"),
    ],
)  # fmt: skip
def test_complaints(options: list[str], text: str, step: Step, tiny: Path) -> None:
    assert step("synth", tiny, *options).failed() == f"error: {text}\n  see step synth --help\n"
