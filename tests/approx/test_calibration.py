"""The fast model takes its numbers from a calibration; what that lacks, or can not be, is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_as_rtl import model_as_rtl

from sim_approx import backend as approx
from sim_approx.calibration.file import Calibration, parameters_of, rtl_digest
from step import BF16, FP32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Tile
from step.errors import FabricError, FormatError
from step.functions import Add, CountFrom, Exp, Matmul, RetileRow, SelectIndices, TargetIndices
from step.programs.files.json_file import validate
from step.running.result import RunResult
from step_check.calibration.campaign import Campaign
from step_check.fuzz import program as fuzz

MEND = "measure what small needs: step calibrate PROGRAM -o {path}"


def small(name: str = "small") -> Program:
    """Four functions in all the operators that take one; one of them stands twice."""
    graph = Graph(name)
    x, w = (graph.source(each, Tile(BF16, 2, 4), [3, 2]) for each in "xw")
    x.map(Exp(), name="exp").map(Add(FP32), w, name="sum").accum(Add(), name="total").sink("y")
    w.map(Exp(), name="again").sink("v")
    x.accum(RetileRow(), name="rows").map(Matmul(True), w.accum(Add(BF16), name="sums"), name="product").sink("z")
    graph.source("n", Tile(UINT32), [2]).flat_map(CountFrom(), graph.source("m", Tile(UINT32), [2])).sink("count")
    random = np.random.default_rng(0)
    inputs = {each: random.random((3, 2, 2, 4)) for each in "xw"}
    return Program(graph, {**inputs, "n": [1, 2], "m": [2, 0]})


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A calibration of `small`."""
    model_as_rtl(monkeypatch)
    program, path = small(), tmp_path / "c.json"
    Campaign.on(path, [program.fabric], None).all([program], [])
    return path


def run(calibration: Path | None = None, fabric: FabricConfig | None = None) -> RunResult:
    program = small()
    return approx.run(program.graph, program.inputs, fabric or program.fabric, events=True, calibration=calibration)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    return path


def test_a_file_has_what_was_measured_and_of_what(made: Path) -> None:
    data = json.loads(made.read_text())
    validate(data, "calibration", "c.json")
    assert data["fabric"] == parameters_of(FabricConfig()) and data["seed"] == 0 and data["held_out"] == []
    assert data["tools"]["verilator"] and data["tools"]["amaranth"]
    assert sorted((each["operator"], each["function"]["function"]) for each in data["units"]) == [
        ("accum", "add"),
        ("accum", "add"),
        ("accum", "retile_row"),
        ("flat_map", "count_from"),
        ("map", "add"),
        ("map", "exp"),
        ("map", "matmul"),
    ]
    for each in data["units"]:
        assert (each["spread"], each["residual"], each["rtl"]) == (0, 0, rtl_digest()) and each["samples"] >= 50
    assert Calibration.load(made).to_json() == data


def test_the_model_with_it_is_the_one_that_was_measured(made: Path) -> None:
    by_formula, by_file = run(), run(made)
    assert by_formula.cycles == by_file.cycles and by_formula.operators == by_file.operators
    for name, events in (by_formula.events or {}).items():
        assert np.array_equal(events.cycles, (by_file.events or {})[name].cycles), name


@pytest.mark.parametrize("what", ["interval", "latency"])
def test_the_model_takes_every_number_from_it(made: Path, what: str) -> None:
    before = run(made).cycles
    for index in range(len(json.loads(made.read_text())["units"])):
        text = made.read_text()
        if json.loads(text)["units"][index]["operator"] != "flat_map":
            changed(made, lambda data, index=index: data["units"][index].update({what: 500}))
            assert run(made).cycles > before + 400
        made.write_text(text)


def refused(path: Path, fabric: FabricConfig | None = None) -> str:
    with pytest.raises((FabricError, FormatError)) as caught:
        run(path, fabric)
    return str(caught.value)


def test_missing_entries_are_told_with_the_command_that_mends_them(made: Path) -> None:
    line = small().graph.nodes["exp"].location
    changed(made, lambda data: data["units"].__delitem__(slice(None)))
    assert refused(made) == (
        f"{made} has no entry for map exp() of BF16[2, 4] to BF16[2, 4] ('exp', {line}), and 6 more; "
        + MEND.format(path=made)
    )


def test_entries_of_other_rtl_are_told_with_the_command_that_mends_them(made: Path) -> None:
    changed(made, lambda data: data["units"][0].update(rtl="0123456789abcdef"))
    line = small().graph.nodes["exp"].location
    assert refused(made) == (
        f"{made} was measured on other RTL than there is now: map exp() of BF16[2, 4] to BF16[2, 4] "
        f"('exp', {line}); " + MEND.format(path=made)
    )


def test_a_calibration_of_another_fabric_is_refused(made: Path) -> None:
    assert refused(made, FabricConfig(stages=2)) == (
        f"{made} is of a fabric with stages = 4, and this one has 2; measure this one into another file: "
        "step calibrate PROGRAM --set fabric.stages=2 -o OTHER.json"
    )
    assert refused(made, FabricConfig(lanes={"exp": 2})) == (
        f"{made} is of a fabric whose operators have the same lanes, and this one has lanes.exp; run it without a "
        "calibration, by formulas"
    )
    run(made, FabricConfig(channel_depth=9, outstanding=2))  # the rules know of these


@pytest.mark.parametrize(
    "number, message",
    [
        (float("nan"), "$.units[0].interval: nan is not of type 'integer'"),
        (1.5, "$.units[0].interval: 1.5 is not of type 'integer'"),
        (0, "$.units[0].interval: 0 is less than the minimum of 1"),
    ],
)
def test_numbers_that_can_not_be_are_refused(made: Path, number: float, message: str) -> None:
    changed(made, lambda data: data["units"][0].update(interval=number))
    assert refused(made) == f"{made}: {message}"


def test_a_function_that_has_no_latency_is_refused(made: Path) -> None:
    changed(made, lambda data: data["units"][0].update(latency=None))
    assert refused(made) == f"{made}: $.units[0].latency: None is not of type 'integer'"


def test_other_files_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.json") == f"there is no file '{tmp_path}/none.json'"
    (tmp_path / "text.json").write_text("interval: 4")
    assert refused(tmp_path / "text.json") == (
        f"{tmp_path}/text.json is no JSON: Expecting value: line 1 column 1 (char 0)"
    )


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5, 6])  # the program of 1 applies no function
def test_a_unit_alone_takes_as_long_as_in_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What is measured around every unit of random programs is what the formulas say, and explains every token."""
    model_as_rtl(monkeypatch)
    program = fuzz.program(seed, roomy=True)
    program = replace(program, fabric=replace(program.fabric, lanes={}, links={}))
    campaign = Campaign.on(tmp_path / "c.json", [program.fabric], None)
    campaign.all([program], [])
    assert campaign.measured
    for key in campaign.measured:
        unit = campaign.calibration.units[key]
        assert (unit.interval, unit.latency) == campaign.formulas[key] and (unit.spread, unit.residual) == (0, 0), unit
    by_formula = approx.run(program.graph, program.inputs, program.fabric)
    by_file = approx.run(program.graph, program.inputs, program.fabric, calibration=tmp_path / "c.json")
    assert (by_formula.cycles, by_formula.operators) == (by_file.cycles, by_file.operators)


def test_units_that_check_indices_are_measured_with_legal_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_as_rtl(monkeypatch)
    graph = Graph("indices")
    selectors = graph.source("x", Tile(UINT32), [2, 3]).accum(SelectIndices(7))
    selectors.map(TargetIndices(3)).sink("y")
    program = Program(graph, {"x": [[0, 4, 6], [2, 1, 5]]})
    campaign = Campaign.on(tmp_path / "c.json", [program.fabric], None)
    campaign.all([program], [])
    intervals = [campaign.calibration.units[key].interval for key in campaign.measured]
    assert sorted(intervals) == [1, 3]


class Stopped(Exception):
    """What ends a campaign."""


def test_a_campaign_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("step_check.calibration.campaign.TOGETHER", 3)
    runs, program, path = model_as_rtl(monkeypatch), small(), tmp_path / "c.json"

    def stop(text: str) -> None:
        if len(runs) == 2:
            raise Stopped

    campaign = Campaign.on(path, [program.fabric], None)
    campaign.progress = stop
    with pytest.raises(Stopped):
        campaign.all([program], [])
    assert len(Calibration.load(path).units) == 6 and len(runs) == 2

    campaign = Campaign.on(path, [program.fabric], None)
    campaign.all([program], [])
    assert (len(campaign.measured), len(campaign.kept), len(runs)) == (1, 6, 3)
    again = Campaign.on(path, [program.fabric], None)
    again.all([program], [])
    assert (len(again.measured), len(again.kept), len(runs)) == (0, 7, 3)


def test_what_is_stale_is_measured_again(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Calibration.load(made).units
    changed(made, lambda data: data["units"][2].update(rtl="0" * 16, interval=77))
    campaign = Campaign.on(made, [FabricConfig()], None)
    campaign.all([small()], [])
    assert (len(campaign.measured), len(campaign.kept)) == (1, 6)
    after = Calibration.load(made).units
    assert {key: replace(each, date="") for key, each in after.items()} == {
        key: replace(each, date="") for key, each in before.items()
    }


def test_a_file_that_can_not_be_written_stays_as_it_was(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    text = changed(made, lambda data: data["units"].pop()).read_text()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device"):
        Campaign.on(made, [FabricConfig()], None).all([small()], [])
    assert made.read_text() == text and [each.name for each in made.parent.iterdir()] == ["c.json"]


# -- memory ---------------------------------------------------------------------------------------------------------


def loading(**memory: int) -> Program:
    """A program that reads off-chip memory."""
    graph = Graph("loading")
    graph.load(graph.tensor("x", (8, 16), BF16), tile=(1, 16)).sink("y")
    return Program(graph, {"x": np.zeros((8, 16))}, FabricConfig(memory=MemoryConfig(**memory)))


def loaded(calibration: Path, **memory: int) -> RunResult:
    program = loading(**memory)
    return approx.run(program.graph, program.inputs, program.fabric, events=True, calibration=calibration)


@pytest.mark.parametrize("interval, latency, interleave", [(1, 24, 1), (3, 100, 4), (70, 1, 2)])
def test_interval_and_latency_of_a_memory_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interval: int, latency: int, interleave: int
) -> None:
    model_as_rtl(monkeypatch)
    program, path = loading(interval=interval, latency=latency, interleave=interleave), tmp_path / "m.json"
    Campaign.on(path, [program.fabric], None).all([program], [])
    found = Calibration.load(path).memory
    assert found is not None and (found.interval, found.latency) == (interval, latency)
    assert (found.spread, found.residual, found.samples) == (0, 0, 99)
    exact = approx.run(program.graph, program.inputs, program.fabric)
    assert loaded(path, interval=interval, latency=latency, interleave=interleave).cycles == exact.cycles
    changed(path, lambda data: data["memory"].update(latency=latency + 50))
    assert loaded(path, interval=interval, latency=latency, interleave=interleave).cycles == exact.cycles + 50


def test_a_memory_that_was_not_measured_is_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mend = f"measure what loading needs: step calibrate PROGRAM -o {made}"
    with pytest.raises(FabricError) as caught:
        loaded(made)
    assert str(caught.value) == f"{made} has no entry for the memory; {mend}"
    Campaign.on(made, [FabricConfig()], None).all([loading()], [])
    with pytest.raises(FabricError) as caught:
        loaded(made, latency=25)
    assert str(caught.value) == (
        f"{made} is of a memory with latency = 24, and this one has 25; measure this one into another file: "
        "step calibrate PROGRAM --set memory.latency=25 -o OTHER.json"
    )
    changed(made, lambda data: data["memory"].update(rtl="0" * 16))
    with pytest.raises(FabricError) as caught:
        loaded(made)
    assert str(caught.value) == f"{made} was measured on other RTL than there is now: the memory; {mend}"


# -- programs that are held out --------------------------------------------------------------------------------------


def test_programs_that_are_held_out_are_named_with_their_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, path = model_as_rtl(monkeypatch), tmp_path / "c.json"
    programs = [small("small"), small("other")]
    Campaign.on(path, [FabricConfig()], None).all(programs[:1], programs[1:])
    assert runs == ["calibration", "other"]  # nothing is measured in either of them
    (found,) = Calibration.load(path).held_out.values()
    assert (found.program, found.mismatches, found.error, found.rtl) == ("other", 0, 0.0, rtl_digest())
    assert found.exact_cycles == found.approximate_cycles == run().cycles and found.tokens == run().tokens

    changed(path, lambda data: [each.update(latency=each["latency"] + 50) for each in data["units"]])
    Campaign.on(path, [FabricConfig()], None).all([], programs[1:])
    (found,) = Calibration.load(path).held_out.values()
    assert found.mismatches > 0 and found.error == (found.approximate_cycles - found.exact_cycles) / found.exact_cycles
    assert found.error > 1
