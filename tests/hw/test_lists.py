"""The lists of files that come with the Verilog, read by the tools that they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cores import run_target

from cosim.building.toolchain import find_toolchain
from hw.design.emit import EmittedDesign, emit
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower


@pytest.fixture
def design(tmp_path: Path) -> EmittedDesign:
    """A small one, in ``tmp_path / "design"``."""
    graph = Graph("small")
    graph.source("x", Tile(FP32), [3]).promote().sink("y")
    return emit(lower(graph, FabricConfig()), tmp_path / "design", probes=False)


def test_the_file_list_names_the_sources(design: EmittedDesign, tmp_path: Path) -> None:
    listed = (tmp_path / "design" / "fabric.f").read_text().split()
    assert listed == design.sidecar["files"] and listed[-1] == "fabric_small.sv"
    tools = find_toolchain()
    command = [str(tools.verilator.path), "--lint-only", "-Wall", "design/waivers.vlt", "-F", "design/fabric.f"]
    command += ["--top-module", design.sidecar["module"]]
    done = subprocess.run(command, cwd=tmp_path, env=tools.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


CORE = "step:fabric:fabric_small:0"


def test_fusesoc_lints_the_core(design: EmittedDesign, tmp_path: Path) -> None:
    done = run_target(tmp_path / "design", CORE, "lint", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (command_file,) = (tmp_path / "work").glob("*.vc")
    assert "--top-module fabric_small" in command_file.read_text() and "-Wall" in command_file.read_text()


def test_the_sources_of_the_core_are_for_any_tool(design: EmittedDesign, tmp_path: Path) -> None:
    """The target ``default`` asks for a tool, and what depends on the core gets no options of another one."""
    done = run_target(tmp_path / "design", CORE, "default", tmp_path)
    assert "Flow 'lint' requires flow option 'tool' to be set" in done.stderr
    done = run_target(tmp_path / "design", CORE, "default", tmp_path, "--tool=verilator")
    assert done.returncode == 0, done.stdout + done.stderr
    files = "filesets: {rtl: {files: [above.sv], file_type: systemVerilogSource, depend: [" + CORE + "]}}"
    targets = "targets: {default: {filesets: [rtl], toplevel: above, flow: generic, flow_options: {tool: icarus}}}"
    (tmp_path / "design" / "above.core").write_text(f"CAPI=2:\nname: any:any:above:0\n{files}\n{targets}\n")
    (tmp_path / "design" / "above.sv").write_text("module above; endmodule\n")
    done = run_target(tmp_path / "design", "any:any:above:0", "default", tmp_path, only_set_up=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told = (tmp_path / "work" / "any_any_above_0.eda.yml").read_text()
    assert "flow_options:\n  tool: icarus\nhooks" in told and "fabric_small.sv" in told and ".vlt" not in told


@pytest.mark.slow
def test_fusesoc_synthesises_the_core(design: EmittedDesign, tmp_path: Path) -> None:
    done = run_target(tmp_path / "design", CORE, "synth", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "work" / "fabric_small.json").is_file()
    assert "LUT4" in (tmp_path / "work" / "area.txt").read_text()
