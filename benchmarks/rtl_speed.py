"""Speed of Verilog generation, RTL simulation and the fast model, on one program.

    python benchmarks/rtl_speed.py [PROGRAM] [--repeat N]

Prints, per kind of arithmetic: seconds to write the Verilog (warm cache of modules), cycles per second of the
simulation, token events per second of the fast model, and the ratio of their times; medians of N runs. Machines
differ and are noisy: quote the ratios.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import tempfile
import time
from pathlib import Path

from cosim.backend import run_rtl
from hw.emit import emit
from sim_approx import backend as approx
from step.lowering.netlist import lower
from step.programs.program import load_program

DEFAULT = Path(__file__).parents[1] / "examples" / "moe_mixtral.py"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(DEFAULT))
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    program = load_program(arguments.program)
    print(f"{program.name}: median of {arguments.repeat} runs")
    for arithmetic in ("rtl", "model"):
        fabric = dataclasses.replace(program.fabric, arithmetic=arithmetic)
        netlist = lower(program.graph, fabric)
        build = run_rtl(program.graph, program.inputs, fabric).build_seconds
        writing, simulating, modelling = [], [], []
        for _ in range(arguments.repeat):
            started = time.perf_counter()
            with tempfile.TemporaryDirectory() as directory:
                emit(netlist, directory, probes=True)
            writing.append(time.perf_counter() - started)
            exact = run_rtl(program.graph, program.inputs, fabric)
            simulating.append(exact.result.wall_seconds)
            modelled = approx.run(program.graph, program.inputs, fabric)
            modelling.append(modelled.wall_seconds)
        simulated, model = statistics.median(simulating), statistics.median(modelling)
        cycles, tokens = exact.result.cycles, modelled.tokens
        print(
            f"  arithmetic={arithmetic}: {cycles:,} cycles, {tokens:,} tokens; "
            f"Verilog {statistics.median(writing):.2f} s, build {build:.0f} s; RTL {cycles / simulated:,.0f} cycles/s; "
            f"fast model {tokens / model:,.0f} tokens/s, {cycles / model:,.0f} cycles/s; "
            f"RTL time / model time {simulated / model:.1f}"
        )


if __name__ == "__main__":
    main()
