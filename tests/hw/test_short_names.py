"""Names of modules as people read them: without digests where one size exists, and never one name for two texts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenarios import FABRIC, SCENARIOS

import step
from hw.design.emit import EmittedDesign, emit
from hw.design.short_names import renamed, short_names
from hw.fabric import elaborate
from hw.registers.wrapper import board_design
from step.language.graph import Graph
from step.lowering.bus import BusConfig
from step.lowering.netlist import lower
from step.programs.prepare import prepare

EXAMPLES = Path(step.__file__).parents[1] / "examples"
DIGESTED = re.compile(r"\b[a-z]\w*_[0-9a-f]{8}\b")


def shortened(program: str) -> tuple[EmittedDesign, EmittedDesign]:
    """The design of an example, and it with short names."""
    netlist = prepare(f"{EXAMPLES}/{program}").netlist
    design = emit(netlist, probes=False)
    return design, renamed(design, short_names(design.files, netlist.graph.name))


@pytest.mark.parametrize(
    ("modules", "short"),
    [
        (["matmul_bf16_4x4_by_4x4_lanes4_c7ebb37b"], ["matmul_in_it"]),
        (
            ["select_valid_4c7d825f", "map_select_valid_1_to_1c_1d158a21"],
            ["select_valid_in_it", "map_select_valid_in_it"],
        ),
        (
            ["turn_item16_parts1_f27a1883", "turn_item16_parts4_d0c6248b"],
            ["turn_item16_parts1_in_it", "turn_item16_parts4_in_it"],
        ),
        (
            ["turn_item16_ca297d3d", "turn_item16_5a39acfd", "turn_item8_00358e61"],
            ["turn_item16_ca297d3d", "turn_item16_5a39acfd", "turn_item8_in_it"],
        ),
        (["load_256_464fa68f", "load_256"], ["load_256_464fa68f", "load_256"]),
        (["load_256_464fa68f", "load_512"], ["load_256_in_it", "load_512"]),
        (["load_464fa68f", "load_512"], ["load_464fa68f", "load_512"]),
        (["bf16_multiply_stages2", "fp32_add_stages4_begins"], ["bf16_multiply_stages2", "fp32_add_stages4_begins"]),
    ],
)
def test_words_of_a_name(modules: list[str], short: list[str]) -> None:
    """The first ones where they are enough, all where these are, and a digest where neither are."""
    names = short_names([f"units/{each}.sv" for each in modules], "it")
    assert [names(f"  {each} #(.WIDTH(8)) u0 (") for each in modules] == [
        f"  {each} #(.WIDTH(8)) u0 (" for each in short
    ]
    assert names("units/other_464fa68e.sv") == "units/other_464fa68e.sv"


@pytest.mark.parametrize("example", ["moe_simple.py:small", "moe_mixtral.py"])
def test_a_design_says_one_name(example: str) -> None:
    """Each file has the module that it is called after, and nothing names a module that is not there."""
    own, short = shortened(example)
    sources = [name for name in short.files if name.endswith(".sv")]
    assert len(own.files) == len(short.files) and sources == short.sidecar["files"]
    for name in sources:
        assert re.findall(r"^module (\w+)", short.files[name], re.MULTILINE) == [Path(name).stem]
    there = {Path(name).stem for name in sources}
    for text in (*short.files.values(), str(short.sidecar)):
        assert set(DIGESTED.findall(text)) <= there
    assert {each["module"] for each in short.sidecar["units"]} <= there
    assert set(short.sidecar["hierarchical"]) <= there
    digests = [sum(DIGESTED.fullmatch(Path(name).stem) is not None for name in design.files) for design in (own, short)]
    assert digests[0] > 15 and digests[1] <= digests[0] / 5
    assert renamed(own, short_names(own.files, short.structure.name.removeprefix("fabric_"))) == short


def test_a_board_says_one_name() -> None:
    """That of a fabric and of what is around it are told apart, too."""
    design = board_design(prepare(f"{EXAMPLES}/moe_simple.py:small").netlist, BusConfig(masters=2))
    there = {Path(name).stem for name in design.files if name.endswith(".sv")}
    assert {"matmul_in_moe_small", "write_master_in_moe_small", "waits_in_moe_small"} <= there
    for text in (*design.files.values(), str(design.fabric.sidecar)):
        assert set(DIGESTED.findall(text)) <= there
    for name, text in design.files.items():
        if name.endswith(".sv"):
            assert f"\nmodule {Path(name).stem} " in f"\n{text}"


def test_no_own_name_has_the_word() -> None:
    """That of a short name, behind which the program follows."""
    names = set()
    for scenario in SCENARIOS[::5]:
        graph = Graph("own")
        scenario.build(graph)
        structure = elaborate(lower(graph, FABRIC), probes=False).structure
        names |= {each.component.module_name for each in structure.instances}
    assert len(names) > 200 and not [each for each in names if "in" in each.split("_")]


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_two_programs_in_one_project(tmp_path: Path) -> None:
    """What both have is the same; what only begins alike has two names, of which one alone would not do."""
    (_, one), (_, other) = designs = [shortened(each) for each in ("moe_simple.py:small", "moe_simple.py")]
    together: dict[str, str] = {}
    for design in (one, other):
        for name in design.sidecar["files"]:
            text = re.sub(r"//.*\n", "", design.files[name])  # heads tell the operators of each
            assert together.setdefault(Path(name).name, text) == text
    alike = {name.replace("moe_small", "moe_simple") for name in one.sidecar["files"]} & set(other.sidecar["files"])
    mine = [name for name in sorted(alike) if name.endswith("_in_moe_simple.sv")]
    assert "functions/matmul_in_moe_simple.sv" in mine
    differ = [name for name in mine if one.files[name.replace("moe_simple", "moe_small")] != other.files[name]]
    assert "functions/matmul_in_moe_simple.sv" in differ
    for name, text in together.items():
        (tmp_path / name).write_text(text)
    tops = [part for own, _ in designs for part in ("-s", own.structure.name)]
    command = ["iverilog", "-g2012", "-t", "null", *tops, *sorted(together)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
