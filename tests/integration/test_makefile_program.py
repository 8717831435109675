"""A program by way of `step verilog --bench` and `verilator.mk`: the same cycles as every other way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cosim.building.design import load_design
from cosim.running.run_files import read_run
from sim_approx import backend as approx
from step.programs.program import load_program

pytestmark = pytest.mark.large

ROOT = Path(__file__).parents[2]


def make(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-j2", "-f", "verilator.mk", f"DIR={directory}", f"PYTHON={sys.executable}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def design(tmp_path: Path) -> Path:
    directory = tmp_path / "design"
    command = [sys.executable, "-m", "step", "verilog", "examples/moe_simple.py", "-o", str(directory), "--bench"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory


def test_lint_has_nothing_to_say(design: Path) -> None:
    done = make(design, "lint")
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stdout + done.stderr and "%Error" not in done.stdout + done.stderr


@pytest.mark.slow
def test_make_runs_the_program(design: Path) -> None:
    done = make(design, "run")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    program = load_program(str(ROOT / "examples" / "moe_simple.py"))
    expected = approx.run(program.graph, program.inputs, program.fabric)
    assert last.startswith(f"finished after {expected.cycles} cycles at ") and last.endswith(" cycles/s; no sinks")
    run = read_run(load_design(design), design / "build" / "run")
    assert (run.status, run.cycles, int(run.tokens.sum())) == ("finished", expected.cycles, expected.tokens)
    done = make(design, "run", "MAX_CYCLES=100")
    assert done.returncode != 0
    assert "runaway after 100 cycles" in done.stderr
