"""Questions of ``verilator.mk`` to Python: ``python -m cosim.running.makefile prepare|report ...``.

``prepare DIR OUT WAVES`` writes to OUT the bench, Verilator's control and argument files, and the variables that the
rules need (``tools.mk``). ``report DIR RUN`` tells how a run ended, and exits with 4 where it did not finish.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cosim.building.build import OPTIMIZATION, simulator_main, verilator_flags
from cosim.building.design import load_design
from cosim.building.harness import TOP, bench_text, hardware
from cosim.building.hierarchy import Hierarchy
from cosim.building.toolchain import find_toolchain, plain
from cosim.running.bench_run import cocotb_environment
from cosim.running.run_files import read_run
from step.errors import SimulationError, StepError


def prepare(origin: Path, output: Path, waves: str | None) -> None:
    """Write all that make needs to build the design in ``origin`` in the directory ``output``."""
    design = load_design(origin)
    tools = find_toolchain()
    hierarchy = Hierarchy.of(design)
    apart = hierarchy.worthwhile and waves is None
    output.mkdir(parents=True, exist_ok=True)
    (output / "bench.sv").write_text(bench_text(design))
    (output / "control.vlt").write_text(hierarchy.control_file(apart, ()))
    given = [plain(path) for path in (*design.verilog, *design.cpp, *hardware(design))]
    sources = [simulator_main(), "control.vlt", "bench.sv", *given]
    flags = verilator_flags(TOP, waves, apart)
    (output / "verilator.f").write_text("\n".join([*_quoted(flags), *map(str, sources)]) + "\n")
    environment = cocotb_environment(tools, TOP, "cosim.running.bench")
    if tools.verilator.root is not None:
        environment["VERILATOR_ROOT"] = str(tools.verilator.root)
    lines = [
        f"VERILATOR := {tools.verilator.path}",
        f"OBJECTS_MK := {'Vtop_hier.mk' if apart else 'Vtop.mk'}",
        f"OPTIMIZATION := {OPTIMIZATION}",
        f"TOOL_VARIABLES := {' '.join(tools.make_variables)}",
        f"SOURCES := {' '.join(map(str, given))}",
        *(f"export {name} := {value}" for name, value in environment.items()),
    ]
    (output / "tools.mk").write_text("\n".join(lines) + "\n")


def _quoted(flags: list[str]) -> list[str]:
    """The flags as an argument file wants them, one option with its value on each line."""
    return [f'"{flag}"' if " " in flag else flag for flag in flags]


def report(origin: Path, directory: Path) -> str:
    """A line about the end of the run in ``directory``; `SimulationError` where it did not finish."""
    run = read_run(load_design(origin), directory)
    sinks = ", ".join(f"{name} {len(tokens)} tokens" for name, tokens in run.sinks.items())
    text = f"{run.status} after {run.cycles} cycles at {run.cycles_per_second:,.0f} cycles/s; {sinks or 'no sinks'}"
    if run.status != "finished":
        raise SimulationError(text)
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
