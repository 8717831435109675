"""Questions of ``verilator.mk`` to Python: ``python -m cosim.running.makefile prepare|report ...``.

``prepare DIR OUT WAVES`` writes to OUT the bench, Verilator's control and argument files, and the variables that the
rules need (``tools.mk``). ``report DIR RUN`` tells how a run ended, and exits with 4 where it did not finish.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cosim.building.build import verilation
from cosim.building.compiling import OPTIMIZATION, TOP, VERILOG
from cosim.building.design import load_design
from cosim.building.toolchain import find_toolchain, plain
from cosim.running.bench_run import cocotb_environment
from cosim.running.run_files import read_run
from step.errors import SimulationError, StepError, expect
from step.host.texts import filled, write_files


def prepare(origin: Path, output: Path, waves: str | None) -> None:
    """Write all that make needs to build the design in ``origin`` in the directory ``output``."""
    tools, read = find_toolchain(), verilation(load_design(origin), waves)
    quoted = (f'"{flag}"' if " " in flag else flag for flag in read.flags)
    environment = cocotb_environment(tools, TOP, "cosim.running.bench")
    if tools.verilator.root is not None:
        environment["VERILATOR_ROOT"] = str(tools.verilator.root)
    given = {"apart": read.apart, "optimization": OPTIMIZATION, "sources": map(plain, read.given)}
    make = filled(VERILOG / "tools.mk.in", tools=tools, environment=environment, **given)
    flags = "\n".join([*quoted, *read.files]) + "\n"
    write_files(output, {**read.written, "verilator.f": flags, "tools.mk": make})


def report(origin: Path, directory: Path) -> str:
    """A line about the end of the run in ``directory``; `SimulationError` where it did not finish."""
    run = read_run(load_design(origin), directory)
    sinks = ", ".join(f"{name} {len(tokens)} tokens" for name, tokens in run.sinks.items())
    text = f"{run.status} after {run.cycles} cycles at {run.cycles_per_second:,.0f} cycles/s; {sinks or 'no sinks'}"
    expect(run.status == "finished", text, SimulationError)
    return text


def main(arguments: list[str]) -> int:
    """The command line; returns the exit code."""
    try:
        match arguments:
            case ["prepare", origin, output, *waves]:
                prepare(Path(origin), Path(output), waves[0] if waves else None)
            case ["report", origin, directory]:
                sys.stdout.write(report(Path(origin), Path(directory)) + "\n")
            case _:
                sys.stderr.write(f"usage: {__doc__}\n")
                return 1
    except StepError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
