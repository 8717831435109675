"""The back ends of a program are compared; the floor that has all of them does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from step.errors import InputError
from step.host.floors import from_floor
from step.host.progress import Progress
from step.host.watching import watched
from step.language.parameters import settled
from step.lowering.fabric import FabricConfig
from step.programs.prepare import Inputs, Openable, open_program, prepare
from step.running.backend import options_for


class Comparison(Protocol):
    """What `compare` found; see `cosim.comparing.compare.Comparison` for all of it."""

    @property
    def passed(self) -> bool:
        """Outputs equal, every token on time, and what is expected within its tolerance."""
        ...

    @property
    def exact_cycles(self) -> int:
        """Cycles of the RTL."""
        ...

    @property
    def approximate_cycles(self) -> int:
        """Cycles of the fast model."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens in all channels."""
        ...

    @property
    def mismatches(self) -> int:
        """Tokens that have another cycle, or other control, in the fast model."""
        ...

    @property
    def first_mismatch(self) -> str | None:
        """A line about the earliest of them."""
        ...

    @property
    def outputs_equal(self) -> bool:
        """Whether the outputs of the RTL are those of the interpreter bit for bit."""
        ...

    @property
    def first_difference(self) -> str | None:
        """A line about the first output that is not."""
        ...

    @property
    def deviation(self) -> float | None:
        """Largest difference to what the program expects, relative to its largest magnitude."""
        ...


def compare(
    program: Openable,
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Run ``program`` on RTL, fast model and interpreter, and compare the cycle of every token and all outputs.

    ``inputs`` and ``fabric`` replace the program's own; see `run`, also for ``progress``.

    Raises the errors of the back ends, and `EnvironmentProblem` where one is not installed; warns as `run` does.
    """
    comparing = from_floor("step.comparisons", "compare", "step.compare")
    given = options_for(comparing, options, "step.compare")
    if progress is not None:
        settled(progress, Callable, "progress", InputError)
    opened = open_program(program, inputs=inputs, fabric=fabric)
    prepared = prepare(opened)
    prepared.warn()
    with watched(progress) as telling:
        found: Comparison = comparing(opened, telling, prepared, **given)
    return found
