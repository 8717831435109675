"""`verilator.mk`: the same runs, for people who build with make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from designs import DONE, pass_through, payload

from cosim.building.design import load_design
from cosim.running.bench_run import write_inputs
from cosim.running.run_files import read_run

MAKEFILE = Path(__file__).parents[2] / "verilator.mk"


def make(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    quick = ("OPTIMIZATION=-O0", "OPT_GLOBAL=-O0")  # the runs are short, the builds are not
    command = ["make", "-j2", "-f", str(MAKEFILE), f"DIR={directory}", f"PYTHON={sys.executable}", *quick, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def with_data(directory: Path, tokens: list[int]) -> Path:
    design = pass_through(directory)
    (design / "data").mkdir()
    write_inputs(load_design(design), design / "data", {"a": tokens})
    return design


def test_runs_and_clean(tmp_path):
    tokens = [payload(1), payload(2), DONE]
    design = with_data(tmp_path / "design", tokens)
    done = make(design, "lint")
    assert done.returncode == 0, done.stderr
    done = make(design, "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("finished after 5 cycles at ")
    assert done.stdout.splitlines()[-1].endswith("; b 3 tokens")
    run = read_run(load_design(design), design / "build" / "run")
    assert (run.sinks, run.cycles, len(run.enters)) == ({"b": tokens}, 5, 6)
    again = make(design, "run", "LOG=0")
    assert again.returncode == 0, again.stderr
    assert "verilator.f" not in again.stdout
    stuck = tmp_path / "stuck"
    stuck.mkdir()
    write_inputs(load_design(design), stuck, {"a": [payload(0xDEAD), DONE]})
    done = make(design, "run", f"DATA={stuck}", "WATCHDOG=30")
    assert done.returncode != 0
    assert "stalled after 2 cycles" in done.stderr
    assert make(design, "clean").returncode == 0
    assert not (design / "build").exists()


@pytest.mark.slow
def test_waves(tmp_path):
    design = with_data(tmp_path / "design", [payload(1), DONE])
    done = make(design, "waves")
    assert done.returncode == 0, done.stderr
    assert (design / "build" / "waves.vcd").stat().st_size > 0


def test_no_sidecar(tmp_path):
    done = make(tmp_path, "run")
    assert done.returncode != 0
    assert "fabric.json" in done.stderr


def test_help_is_the_head_of_the_file():
    done = subprocess.run(["make", "-f", str(MAKEFILE)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Builds and runs the Verilog of a fabric with make, Verilator and cocotb.\n")


def test_a_blank_in_a_path(tmp_path):
    done = make(tmp_path / "my design", "run")
    assert done.returncode != 0
    assert done.stderr.endswith(
        "a path has a blank in its name, which make can not read: "
        "move the project, DIR, DATA, OUT, RUN, WAVES or PYTHON.  Stop.\n"
    )
