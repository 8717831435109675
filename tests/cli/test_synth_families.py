"""``step synth --family``: other cells than those of an ECP5, and what is said where they are not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from amaranth.hdl import Value
from amaranth.lib.wiring import In
from cases import cases
from commanding import Step, program

from cosim.synthesis import measure
from cosim.synthesis.families.family import CellFamily
from cosim.synthesis.families.osu018 import LIBERTY, Osu018, StandardCells, _read_report
from cosim.synthesis.families.ultrascale import UltraScale, UltraScaleCells
from cosim.synthesis.flow import Flow, MappedDesign
from cosim.synthesis.jobs import Stop
from cosim.synthesis.levels import levels_of
from cosim.synthesis.macros import Macros
from cosim.synthesis.report import Report
from hw.fabric import elaborate
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import flat_ports
from hw.verilog.structure import Instance, Structure
from step import BF16, FP32, Graph, Tile
from step.errors import EnvironmentProblem, SettingError
from step.functions import Cast
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower

pytestmark = pytest.mark.large

TINY = Path(__file__).with_name("tiny.lib")
MACROS = Path(__file__).with_name("tiny_macros.json")


def promote(family: CellFamily) -> object:
    """The cells of a Promote."""
    graph = Graph("tiny")
    graph.source("x", Tile(FP32), [3]).promote(name="up").sink("y")
    unit = elaborate(lower(graph, FabricConfig())).units[1]
    library = ModuleLibrary(initial_values=family.initial_values)
    library.require(unit.component)
    return Flow(library.texts(), family.check(), family).area(unit.component.module_name, Stop())


def test_registers_are_the_same_in_all_families() -> None:
    other, standard = promote(UltraScale()), promote(Osu018(TINY))
    assert isinstance(other, UltraScaleCells) and isinstance(standard, StandardCells)
    assert other.ff == standard.registers > 0 and other.size > 0
    assert other.lut_ram == other.block_ram == other.dsp == standard.sram_bits == 0
    gates = standard.cells - standard.registers
    assert gates * 10 <= standard.square_micrometres - 100 * standard.registers <= gates * 20


def test_cells_of_ultrascale() -> None:
    found = UltraScale().read(
        {"num_cells_by_type": {"LUT2": 3, "LUT6": 2, "INV": 1, "RAM32M16": 2, "FDRE": 7, "RAMB36E2": 1, "RAMB18E2": 1}}
    )
    assert found == UltraScaleCells(lut=6, lut_ram=16, ff=7, block_ram=3)
    assert found.size == found.columns["LUT"] == 22


def cell(kind: str, inputs: dict[str, int], output: int, **parameters: str) -> dict[str, object]:
    """A cell of this type, with bits at its inputs and at its output O."""
    connections = {name: [bit] for name, bit in {**inputs, "O": output}.items()}
    directions = {**dict.fromkeys(inputs, "input"), "O": "output"}
    return {"type": kind, "connections": connections, "port_directions": directions, "parameters": parameters}


def test_levels_of_logic() -> None:
    """From the register q on through a LUT, a chain of carries, a LUT RAM's address and a multiplier."""
    cells = {
        "q": cell("FDRE", {"D": 9, "CE": 9}, 2),
        "lut": cell("LUT2", {"I0": 2, "I1": 20}, 3),
        "low": cell("CARRY4", {"S": 3, "DI": 2}, 4),
        "high": cell("CARRY4", {"CI": 4, "S": 2}, 5),
        "read": cell("RAM32M16", {"ADDRA": 5, "DIA": 9}, 6),
        "product": cell("DSP48E2", {"A": 6, "CEM": 5}, 9, MREG="0"),
    }
    assert levels_of(cells) == 4  # and not a loop through what the LUT RAM is written
    assert levels_of(cells | {"product": cell("DSP48E2", {"A": 6}, 9, MREG="1")}) == 3
    assert levels_of(cells | {"high": cell("CARRY4", {"CI": 4, "S": 4}, 5)}) == 5
    assert levels_of({"q": cells["q"]}) == levels_of({}) == 0


def test_levels_of_a_unit(step: Step, tiny: Path) -> None:
    """They stand where a clock would, and are said to be none."""
    code, out, err = step("synth", tiny, "--family", "xcup")
    assert (code, err.splitlines()[-1]) == (
        0,
        "warning: area and levels of logic, which are no clock: there is no open place and route of xcup",
    )
    rows = [line.split() for line in out.splitlines()[1:]]
    assert rows[0][-1] == "levels" and [each[-1] for each in rows[4:6]] == ["-", "-"]
    levels = [int(each[-1]) for each in rows[1:4]]
    assert min(levels) >= 1 and rows[6][-1] == str(max(levels))


def test_cells_of_an_asic() -> None:
    cells = {"NAND2X1": 3, "DFFPOSX1": 2, "$memrd_v2": 1}
    found = Osu018().read({"num_cells_by_type": cells, "num_memory_bits": 4096, "area": 123.4})
    assert found == StandardCells(cells=5, registers=2, sram_bits=4096, square_micrometres=123)
    assert (found + found).columns == {"cells": 10, "FF": 4, "SRAM bits": 8192, "um^2": 246}


def test_the_slowest_path() -> None:
    text = """\
   0.00    0.00 ^ design.unit.kept[3]\\\\DFFPOSX1/CLK (DFFPOSX1)
   0.82    0.82 v design.unit.kept[3]\\\\DFFPOSX1/Q (DFFPOSX1)
   0.26    1.08 ^ _2077_/Y (INVX2)
   0.00    4.80 v design.before_input0.full\\\\DFFPOSX1/D (DFFPOSX1)
 995.00   slack (MET)
"""
    timing = _read_report(text)
    assert timing.mhz == 200
    assert timing.path({"unit": "up", "before_input0": "channel x"}) == ("up", "channel x")


tiny = program("tiny")


@cases(
    (["--family", "asic"], "invalid value for '--family': 'asic' is not one of 'ecp5', 'xcup', 'osu018'"),
    (["--family", "xcup", "--speed", "7"], "--speed is for --family ecp5, not for xcup"),
    (["--family", "osu018", "--device", "25k"], "--device is for --family ecp5, not for osu018"),
    (["--family", "xcup", "--liberty", "a.lib"], "--liberty is for --family osu018, not for xcup"),
    (["--macros", str(MACROS)], "--macros is for --family osu018, not for ecp5"),
    (["--family", "xcup", "--place"], "--place: there is no open place and route of xcup"),
    (["--family", "xcup", "--estimate"], "--estimate knows the cells of ecp5 alone, not those of xcup"),
)
def test_what_a_family_does_not_have(options: list[str], text: str, step: Step, tiny: Path) -> None:
    assert step("synth", tiny, *options).failed().splitlines()[0] == f"error: {text}"


def test_a_library_that_is_missing_or_cut_off(step: Step, tiny: Path, tmp_path: Path) -> None:
    missing, cut = tmp_path / "missing.lib", tmp_path / "cut.lib"
    cut.write_text(TINY.read_text()[:500])
    code, out, err = step("synth", tiny, "--family", "osu018", "--liberty", missing)
    assert (code, out, err) == (
        EnvironmentProblem.exit_code,
        "",
        f"error: {missing} not found: install it (Debian: apt install qflow-tech-osu018), or choose another file with "
        "--liberty\n",
    )
    code, out, err = step("synth", tiny, "--family", "osu018", "--liberty", cut)
    assert (code, out, err) == (
        SettingError.exit_code,
        "",
        f"error: {cut} is no Liberty file, or cut off: it must be library (..) {{..}}\n",
    )


def test_area_alone_is_told(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosim.synthesis.families.osu018.shutil.which", lambda name: None)
    monkeypatch.setattr(Flow, "area", lambda flow, module, stop: StandardCells(cells=7, square_micrometres=70))
    code, out, err = step("synth", tiny, "--family", "osu018", "--liberty", TINY)
    assert (code, err) == (
        0,
        "warning: area only: sta not found: for clocks of `step synth --family osu018` install OpenSTA (Debian: apt "
        "install opensta)\n",
    )
    lines = out.splitlines()
    assert lines[0] == "tiny in osu018 cells"
    assert lines[1].split() == ["part", "cells", "FF", "SRAM", "bits", "um^2", "MHz"]
    assert lines[2].split() == ["x", "7", "0", "0", "70", "-"]
    assert lines[7].split() == ["all", "42", "0", "0", "420", "-"]


@pytest.fixture(scope="module")
def casts() -> Report:
    """A program with a block RAM, in cells that Debian has."""
    graph = Graph("casts")
    wide = graph.source("x", Tile(FP32, 4, 4), [3]).buffered(100)
    wide.map(Cast(BF16), name="cast").sink("y")
    return measure.measure(lower(graph, FabricConfig(vector_lanes=2)), Osu018())


@pytest.mark.slow
@pytest.mark.skipif(not LIBERTY.exists(), reason="qflow-tech-osu018 is not installed")
def test_an_asic_has_clocks_and_memories(casts: Report) -> None:
    area = casts.area
    assert isinstance(area, StandardCells) and area.sram_bits >= 100 * 512 and area.square_micrometres > 10 * area.cells
    cast = casts.units[1]
    assert cast.clock is not None and cast.clock.median > 50
    assert {*cast.clock.path} <= {"cast", "channel before input0", "channel behind output0"}


def waiting(macros: Macros | None) -> tuple[StandardCells, MappedDesign]:
    """A channel of 100 numbers, and what it is behind pins."""
    graph = Graph("waits")
    graph.source("x", Tile(FP32), [3]).buffered(100).promote(name="up").sink("y")
    channel = elaborate(lower(graph, FabricConfig())).channels[0].component
    design, family = Structure("alone"), Osu018(TINY, macros)
    for name, member, value in flat_ports(channel):
        design.ports[name] = ("input" if member.flow is In else "output", len(Value.cast(value)))
    design.instances.append(Instance("piece", channel, {name: name for name in design.ports}, "the piece"))
    library = ModuleLibrary(initial_values=family.initial_values, generic=False)
    library.require_all(design)
    flow = Flow(library.texts(), family.check(), family)
    area = flow.area(channel.module_name, Stop())
    assert isinstance(area, StandardCells)
    return area, flow.netlist(design, Stop())


def test_memories_are_macros() -> None:
    """100 words of 32 bits, and headers of 4: each two small macros, whose area is less than that of a large one."""
    macros = Macros.load(MACROS)
    (area, design), (bits, _) = waiting(macros), waiting(None)
    assert area.macros == {"sram_64x32": 4} and area.sram_bits == 4 * 64 * 32 and not bits.macros
    assert 100 * 32 < bits.sram_bits < area.sram_bits
    assert area.square_micrometres > bits.square_micrometres + 4 * 9000 and area.registers < bits.registers + 10
    assert list(Osu018(TINY, macros).notes(area)) == ["SRAM: 4 sram_64x32 of 2,048 bits"]
    if shutil.which("sta"):
        timing = design.time("the slowest path", Stop())
        assert timing.cells[0] == "design.piece.headers.0.0"  # its 3 ns to the word are the most
        assert 1000 / timing.mhz > 3


MACRO = json.loads(MACROS.read_text())["macros"][0]


@cases(
    ([MACRO | {"words": 100}], "macros[0].words must be a power of two, not 100"),
    ([MACRO, MACRO], "macros[1]: there are two called sram_64x32"),
    ([MACRO | {"name": "a b"}], "{file}: $.macros[0].name: 'a b' does not match '^[A-Za-z_][A-Za-z0-9_]*$'"),
    ([], "{file}: $.macros: [] should be non-empty"),
)
def test_what_is_no_file_of_macros(macros: list[object], text: str, step: Step, tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "macros.json"
    file.write_text(json.dumps({"format": "step-macros-1", "macros": macros}))
    err = step("synth", tiny, "--family", "osu018", "--liberty", TINY, "--macros", file).failed()
    assert err == f"error: {text.format(file=file)}\n"
