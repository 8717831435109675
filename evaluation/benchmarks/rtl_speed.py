"""Speed of RTL simulation and of the fast model, on the same programs in the same run.

    python -m benchmarks.rtl_speed [PROGRAM ...] [--arithmetic rtl|model] [--repeat N]

Without a PROGRAM: `moe_mixtral`, and products on 256 and on 4,096 lanes (`benchmarks/products.py`), whose simulators
take minutes to build, once. Medians of N runs, which take turns:

lanes     multiply-accumulate lanes of all products
RTL, s    the simulation alone: no Verilog is written, nothing is built
model, s  the run of the fast model's engine alone
ratio     of these two
call      the same with all that a call in Python does before and after, lowering and binding for example
process   the same of two processes, `step run`, so with the start of Python and of the simulator

Machines differ and are noisy: quote the ratios.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from cosim.backend import run_rtl
from sim_approx import backend as approx
from step.functions import Matmul
from step.language.graph import Node
from step.lowering.fabric import FabricConfig
from step.lowering.plans.matmul import plan
from step.lowering.plans.plan import Application
from step.programs.prepare import prepare
from step.programs.program import Program, load_program

ROOT = Path(__file__).parents[2]
DEFAULT = ("examples/moe_mixtral.py", "benchmarks/products.py:on_256_lanes", "benchmarks/products.py:on_4096_lanes")


def lanes(program: Program) -> int:
    """Multiply-accumulate lanes of all matmul units."""
    return sum(_lanes(node, program.fabric) for node in program.graph)


def _lanes(node: Node, fabric: FabricConfig) -> int:
    function = node.operator.function
    if not isinstance(function, Matmul):
        return 0
    return plan(function, Application.at(node, fabric, reduce=False)).arrangement.lanes


def seconds(body: Callable[[], Any]) -> tuple[float, Any]:
    """Wall time of ``body``, and what it returns."""
    start = time.perf_counter()
    found = body()
    return time.perf_counter() - start, found


def process(program: str, backend: str, arithmetic: str) -> float:
    """Wall time of ``step run``."""
    setting = f"fabric.arithmetic={arithmetic}"
    command = [sys.executable, "-m", "step", "run", program, "--backend", backend, "--set", setting]
    return seconds(lambda: subprocess.run(command, cwd=ROOT, capture_output=True, check=True))[0]


def measure(name: str, arithmetic: Literal["rtl", "model"], repeat: int) -> str:
    """The line of a program."""
    program = load_program(str(ROOT / name))
    program.fabric = dataclasses.replace(program.fabric, arithmetic=arithmetic)
    parts = program.graph, program.inputs, program.fabric
    build = run_rtl(prepare(*parts))[1].build_seconds
    approx.run(*parts)
    runs: list[tuple[float, ...]] = []
    for _ in range(repeat):
        call, (exact, _) = seconds(lambda: run_rtl(prepare(*parts)))
        model_call, modelled = seconds(lambda: approx.run(*parts))
        assert exact.cycles == modelled.cycles
        started = (process(name, backend, arithmetic) for backend in ("rtl", "approx"))
        runs.append((exact.wall_seconds, modelled.wall_seconds, call, model_call, *started))
    rtl, model, call, model_call, rtl_process, model_process = map(statistics.median, zip(*runs, strict=True))
    return (
        f"{program.name:20} {lanes(program):6,} {modelled.cycles:7,} {build:8.0f} {rtl:7.2f} {model:8.5f} "
        f"{modelled.cycles / rtl:12,.0f} {modelled.cycles / model:14,.0f} "
        f"{rtl / model:8,.0f} {call / model_call:6.0f} {rtl_process / model_process:7.1f}"
    )


def main() -> None:
    """Print one line per program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=DEFAULT, metavar="PROGRAM")
    parser.add_argument("--arithmetic", choices=("rtl", "model"), default="rtl")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(
        f"{'program':20} {'lanes':>6} {'cycles':>7} {'build, s':>8} {'RTL, s':>7} {'model, s':>8} {'RTL cycles/s':>12} "
        f"{'model cycles/s':>14} {'ratio':>8} {'call':>6} {'process':>7}"
    )
    for name in arguments.programs:
        print(measure(name, arguments.arithmetic, arguments.repeat), flush=True)


if __name__ == "__main__":
    main()
