"""The back ends of a program are compared; the floor that has all of them does it."""

from __future__ import annotations

from typing import Any

from step.host.floors import from_floor
from step.host.progress import Progress, silent
from step.lowering.fabric import FabricConfig
from step.programs.opening import Inputs, Openable, open_program


def compare(
    program: Openable,
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Any:
    """Run ``program`` on RTL, fast model and interpreter, and compare the cycle of every token and all outputs.

    ``inputs`` and ``fabric`` replace the program's own; see `step.run`. Returns a `cosim.compare.Comparison`: whether
    it ``passed``, the cycles, and the first differences. Raises the errors of the back ends, and `EnvironmentProblem`
    where one is not installed.
    """
    comparing = from_floor("step.comparisons", "compare", "step.compare")
    return comparing(open_program(program, inputs=inputs, fabric=fabric), progress, **options)
