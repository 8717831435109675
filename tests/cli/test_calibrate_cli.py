"""``step calibrate``; the fast model stands for RTL."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commanding import Step, commanding, program

from sim_approx import backend as approx
from step import FabricConfig
from step.lowering.timing import timing_of
from step.programs.files.json_file import validate
from step.programs.prepare import Prepared, prepare
from step.running.result import RunResult
from step_check import calibration
from step_check.calibration import standard_benches

LATE = set[str]()
"""Channels whose tokens come three cycles late in what stands for RTL."""


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    def run_rtl(prepared: Prepared, **_: object) -> tuple[RunResult, None]:
        result = approx.run(prepared, events=True, values="all")
        assert result.events is not None
        events = {
            name: replace(each, cycles=each.cycles + 3) if name in LATE else each
            for name, each in result.events.items()
        }
        return replace(result, events=events), None

    monkeypatch.setattr(calibration, "run_rtl", run_rtl)
    return commanding(monkeypatch, capsys)


two = program("two")


def test_every_function_of_a_program_stands_once_and_on_its_lanes(step: Step, two: Path) -> None:
    done = step("calibrate", two)
    assert (done.code, done.err) == (0, "")
    assert [line.split() for line in done.out.splitlines()] == [
        ["by", "plan", "|", "in", "RTL", "where", "it", "differs"],
        ["unit", "words", "interval", "latency", "residual"],
        [*["Map(function=Exp(out=None))", "of", "Tile(BF16,", "2,", "4)"], "1", "4", "12", "0"],
        [*["Accum(function=Add(out=None),", "rank=1)", "of", "Tile(BF16,", "2,", "4)"], "1", "3", "7", "0"],
        ["ok:", "2", "units", "as", "planned,", "in", "the", "cycle", "of", "every", "token"],
    ]


def test_one_that_differs_is_named(step: Step, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_calibrate_cli.LATE", {"exp"})
    done = step("calibrate", two, "--save", tmp_path / "c.json")
    assert done.code == 4 and " 12 | 15 " in done.out
    assert done.err == "error: 1 of 2 units are not as planned: Map(function=Exp(out=None)) of Tile(BF16, 2, 4)\n"
    data = json.loads((tmp_path / "c.json").read_text())
    validate(data, "calibration", "c.json")
    exp, total = data["units"]
    assert (exp["expected"]["latency"], exp["measured"]["latency"], exp["residual"]) == (12, 15, 3)
    assert total["expected"] == total["measured"] and total["residual"] == 0


def test_as_json(step: Step, two: Path) -> None:
    data = json.loads(step("calibrate", two, "--arg", "rows=9", "--set", "fabric.stages=1", "--json").out)
    validate(data, "calibration", "stdout")
    assert data["fabric"]["stages"] == 1 and [each["residual"] for each in data["units"]] == [0, 0]


def test_without_a_program_it_is_every_operator_and_function(step: Step) -> None:
    data = json.loads(step("calibrate", "--set", "fabric.vector_lanes=4", "--json").out)
    units = [each["unit"].partition(" of ")[0] for each in data["units"]]
    assert {"map_matmul", "scan_add", "flat_map_count_from", "partition", "linear_off_chip_store"} <= set(units)
    assert {"source"}.isdisjoint(units) and data["program"] is None and len(set(units)) * 2 == len(units)


def test_a_function_takes_as_long_as_its_plan_says() -> None:
    """The header of each result follows a value; a scan of tuples sends more words than `UnitPlan` counts."""
    for bench in standard_benches(FabricConfig(matmul_lanes=4, vector_lanes=4)):
        prepared = prepare(bench.program)
        events = approx.run(prepared, events=True).events
        assert events is not None
        for unit, name in bench.units.items():
            node = prepared.graph.nodes.get(name)
            plan = node and timing_of(prepared.netlist, node)
            if node is not None and plan is not None and "flat_map" not in unit and "scan_max_index" not in unit:
                pace = calibration._pacing(prepared.netlist, node, events)
                assert (pace.interval, pace.latency) == (plan.initiation_interval, plan.latency), unit


def test_bad_calls(step: Step, two: Path) -> None:
    assert step("calibrate", "--arg", "rows=3").err == "error: --arg has no effect without a PROGRAM\n"
    assert step("calibrate", "--set", "lanes.exp=2").err == "error: --set lanes. has no effect without a PROGRAM\n"
    assert step("calibrate", two, "--save", two).err == (
        f"error: {two} can not be both PROGRAM and --save: choose another file for one of them\n"
    )
    assert "no such option '--calibration'" in step("run", two, "--calibration", "c.json").err
