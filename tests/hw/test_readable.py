"""Wires of what is emitted: named, few, and the same whatever else Yosys converts at the time."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kept_tools import cold_cache
from scenarios import FABRIC, SCENARIOS

import step
from hw.design.emit import emit
from hw.fabric import elaborate
from hw.registers.wrapper import board_design
from hw.verilog import regions
from hw.verilog.convert import ModuleLibrary
from step.language.graph import Graph
from step.lowering.bus import BusConfig
from step.lowering.netlist import lower
from step.programs.prepare import prepare

EXAMPLES = Path(step.__file__).parents[1] / "examples"
EXAMPLE_PROGRAMS = sorted(each.name for each in EXAMPLES.glob("*.py"))
DECLARED = re.compile(
    r"^ +(?:wire|reg|logic) (?:signed )?(?:\[[^]]+\] )?(\w+)(?: \[[^]]+\])?(?: = \S+)?;$", re.MULTILINE
)
UNNAMED = re.compile(r"n\d+|_\w*")
"""Numbers, and what Amaranth calls those that are made where it sees no name: `_signal`, `_like`, `_signature`."""


@pytest.mark.parametrize("example", ["moe_simple.py:small", "softmax.py", "recirculate.py"])
def test_wires_have_names(example: str) -> None:
    """All; also those of masters, DMA and registers."""
    design = board_design(prepare(f"{EXAMPLES}/{example}").netlist, BusConfig(), streams=True)
    own = [text for file, text in design.files.items() if file != f"{design.fabric.sidecar['module']}_registers.sv"]
    declared = [each for text in own for each in DECLARED.findall(text)]
    assert len(declared) > 500
    assert [each for each in declared if UNNAMED.fullmatch(each)] == []


def test_names_do_not_depend_on_what_the_cache_has(tmp_path: Path) -> None:
    """Yosys numbers its own wires in all that it reads; half of the modules come from the cache here."""
    graph = Graph("cached")
    (scenario,) = (each for each in SCENARIOS if each.name == "eager_merge-uneven")
    scenario.build(graph)
    components = [each.component for each in elaborate(lower(graph, FABRIC), probes=False).structure.instances]
    whole, half = ModuleLibrary(cold_cache(tmp_path / "whole")), ModuleLibrary(cold_cache(tmp_path / "half"))
    for component in components:
        whole.require(component)
    for component in components[::2]:
        half.require(component)
    half.texts()
    rest = ModuleLibrary(tmp_path / "half")  # the same folder
    for component in components:
        rest.require(component)
    assert rest.texts() == whole.texts()


@pytest.mark.parametrize("example", EXAMPLE_PROGRAMS)
def test_slang_finds_nothing(example: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the rules that are shipped; without them it finds something."""
    driver = pytest.importorskip("pyslang.driver")
    emit(prepare(f"{EXAMPLES}/{example}").netlist, tmp_path / "design", probes=False)
    said = []
    for rules in (f"-f {tmp_path}/design/slang.f", "-Weverything"):
        slang = driver.Driver()
        slang.addStandardArgs()
        assert slang.parseCommandLine(f"slang {rules} -F {tmp_path}/design/fabric.f")
        assert slang.processOptions() and slang.parseAllSources()
        compilation = slang.createCompilation()
        slang.reportCompilation(compilation, True)
        slang.runAnalysis(compilation)
        assert slang.reportDiagnostics(True)
        said.append(capfd.readouterr().err)
    assert said[0] == "" and "warning:" in said[1]


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_icarus_is_not_sorry(tmp_path: Path) -> None:
    design = emit(prepare(f"{EXAMPLES}/moe_simple.py:small").netlist, tmp_path / "design", probes=False)
    command = ["iverilog", "-g2012", "-t", "null", *design.sidecar["files"]]
    ran = subprocess.run(command, cwd=tmp_path / "design", capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == ""


def test_large_designs_are_in_regions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module for each expert, where the sidecar finds what is in it; nothing is lost or added."""
    netlist = prepare(f"{EXAMPLES}/moe_simple.py:small").netlist
    whole = emit(netlist, probes=False)
    monkeypatch.setattr(regions, "MOST_LINES", 1_000)
    split = emit(netlist, probes=False)
    made = {name for name in split.files if name.startswith("regions/")}
    alike = {"expert0", "expert1", "routing"}
    assert made == {f"regions/fabric_moe_small_{each}.sv" for each in alike}
    places = {unit["name"]: unit["instance"] for unit in split.sidecar["units"]}
    assert places["route"] == "u4_route" and places["expert1_keep"].startswith("expert1.u")
    instances = re.compile(r"^  \w+ (?:#\(.*\) )?([cu]\d+_\w+) \($", re.MULTILINE)
    texts = [split.files[name] for name in (*made, "fabric_moe_small.sv")]
    found = sorted(each for text in texts for each in instances.findall(text))
    assert found == sorted(instances.findall(whole.files["fabric_moe_small.sv"])) and len(found) == 75
    assert {each["wires"].partition(".")[0] for each in split.sidecar["channels"] if "." in each["wires"]} == alike


@pytest.mark.parametrize("example", EXAMPLE_PROGRAMS)
def test_verible_finds_nothing(example: str, tmp_path: Path) -> None:
    """With the rules that are shipped; without them it finds something."""
    emit(prepare(f"{EXAMPLES}/{example}").netlist, tmp_path, probes=False)
    files = (tmp_path / "fabric.f").read_text().split()
    verible = Path(sys.executable).with_name("verible-verilog-lint")
    said = [
        subprocess.run([verible, *rules, *files], cwd=tmp_path, capture_output=True, text=True)
        for rules in (["--rules_config", "rules.verible_lint"], ["--rules", "line-length"])
    ]
    assert (said[0].returncode, said[0].stdout + said[0].stderr) == (0, "")
    assert "[line-length]" in said[1].stdout + said[1].stderr
