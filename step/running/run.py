"""Runs of programs, as Python and notebooks show them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from step.errors import InputError, SimulationError
from step.programs.energy.model import Energy
from step.programs.metrics import Metrics, metrics_of
from step.programs.prepare import prepare
from step.programs.program import Program
from step.programs.tables import Columns, bar, table
from step.running.expectation import Deviation, deviation
from step.running.interpreter import bind
from step.running.output import Output, outputs_of
from step.running.result import RunResult

COLOURS = {"busy": "#3a8f5c", "starved": "#9dc3e6", "blocked": "#e6975a", "finished": "#d9d9d9"}
ACTIVITIES = tuple(COLOURS)


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """A run of ``program`` to its end; ``result`` is the record of it, which files hold.

    >>> run = step.run(program, "interpret")
    >>> run.outputs["y"].numpy().ravel(), run.check().relative
    (array([ 6., 15.], dtype=float32), 0.0)
    """

    program: Program
    result: RunResult

    @property
    def backend(self) -> str:
        """Name of the back end."""
        return self.result.backend

    @property
    def cycles(self) -> int:
        """Length of the run in cycles; raises `InputError` for one without time."""
        if not self.result.cycles:
            from step.running.backend import able  # which makes runs

            raise InputError(f"a run on the back end {self.backend} has no cycles; {' and '.join(able('timed'))} have")
        return self.result.cycles

    @cached_property
    def outputs(self) -> dict[str, Output]:
        """Outputs through sinks and stores, and the tensors that were stored, by name.

        Raises `InputError` where values were not computed.
        """
        if self.result.outputs is None:
            raise InputError(
                f"this run on the back end {self.backend} computed only the values that decide cycles, so it has no "
                'outputs; values="all" computes all of them'
            )
        return outputs_of(self.program, self.result.outputs)

    @cached_property
    def operators(self) -> Columns:
        """Cycles that each operator was ``busy``, ``starved``, ``blocked`` and ``finished``."""
        return Columns.of("operator", self.result.operators, ACTIVITIES)

    @cached_property
    def channels(self) -> Columns:
        """``tokens`` that entered each channel, its ``peak`` occupancy and its ``capacity`` in slots."""
        return Columns.of("channel", self.result.channels, ("tokens", "peak", "capacity"))

    @cached_property
    def traffic(self) -> Columns:
        """``read_bytes`` from off-chip memory and ``written_bytes`` to it, by operator, in so many ``beats``."""
        return Columns.of("operator", self.result.traffic, ("read_bytes", "written_bytes", "beats"))

    @property
    def flops(self) -> int:
        """Floating-point operations that were executed, on padding too; raises what `step.bind` raises."""
        return int(self._metrics.flops.round())

    @property
    def useful_flops(self) -> int:
        """Operations of `flops` on rows that are data, an upper bound where `step.metrics` says so."""
        return int(self._metrics.useful_flops.round())

    @cached_property
    def _metrics(self) -> Metrics:
        return metrics_of(prepare(self.program)).bind(self.result.symbols or bind(self.program))

    @cached_property
    def energy(self) -> Energy:
        """Energy of what the program does on its data, of all that switches (docs/energy.md), by published figures.

        That is the same on all back ends. Raises what `step.bind` raises.
        """
        return self._metrics.energy

    def check(self) -> Deviation:
        """Deviation of the outputs from those that the program expects.

        Raises `SimulationError`, with the first scalar that is too far away, unless all are within the tolerance, and
        `InputError` where nothing is expected.
        """
        outputs = {name: list(each.tokens) for name, each in self.outputs.items()}
        found = deviation(self.program, outputs)
        if found is None:
            raise InputError(f"nothing is expected of {self.program.name}; give Program(..., expected={{name: array}})")
        if not found.close:
            raise SimulationError(f"{self.program.name} on {self.backend}: {found.first}")
        return found

    def save(self, path: Path | str) -> None:
        """Write the record of the run to ``path`` as JSON (see `RunResult.save`)."""
        self.result.save(path)

    def __repr__(self) -> str:
        return f"<run of {self._caption}>"

    @property
    def _caption(self) -> str:
        length = f": {self.cycles:,} cycles" if self.result.cycles else ""
        return f"{self.program.name} on {self.backend}{length}"

    def _repr_html_(self) -> str:
        return self._activities() + self._outputs()

    def _activities(self) -> str:
        if not self.result.operators:
            return ""
        rows = []
        for name, each in self.result.operators.items():
            spent = {activity: getattr(each, activity) for activity in ACTIVITIES}
            shares = {activity: cycles / self.cycles for activity, cycles in spent.items()}
            rows.append((name, *spent.values(), bar(shares, COLOURS)))
        return table(("operator", *ACTIVITIES, "share of the cycles"), rows, self._caption)

    def _outputs(self) -> str:
        if self.result.outputs is None:
            return ""
        caption = "" if self.result.operators else self._caption  # else the table of operators has it
        return table(("output", "type"), [(name, each.type) for name, each in self.outputs.items()], caption)
