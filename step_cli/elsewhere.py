"""Programs of ``step compare`` that other processes compare, of this machine or of a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cosim.comparing.compare import Comparison, compared
from step.errors import SimulationError, StepError
from step.host.progress import Progress, silent
from step.programs.prepare import prepare
from step.programs.program import load_programs
from step_cli.options import on_fabric
from step_explore.sweeps.axis import Value
from step_explore.sweeps.cluster import workers

Task = tuple[int, str, int]
"""The place of a PROGRAM of the command line, that itself, and the place of a program among those that it names."""

Done = tuple[Task, "Comparison | StepError"]


@dataclass(frozen=True)
class Elsewhere:
    """Comparisons of programs; ``arguments``, ``fitted``, ``settings`` and ``max_cycles`` are the
    options of ``step compare``."""

    arguments: dict[str, Value]
    settings: tuple[str, ...]
    fitted: Path | None = None
    max_cycles: int | None = None

    def __call__(self, task: Task) -> Done:
        """The comparison of the program, or what went wrong."""
        _, spec, number = task
        try:
            program = on_fabric(load_programs(spec, self.arguments)[number], self.fitted, self.settings)
            return task, compared(program, prepare(program), silent, max_cycles=self.max_cycles)
        except StepError as error:
            return task, error

    def compared(
        self, tasks: Sequence[Task], jobs: int | None, scheduler: str | None, progress: Progress
    ) -> tuple[dict[Task, Comparison], StepError | None]:
        """Comparisons of ``tasks``, in their order, and the first error; raises what `workers` raises."""
        found: dict[Task, Comparison | StepError] = {}
        with workers(self, _lost, len(tasks), jobs, scheduler) as running:
            for task, each in running.rows(tasks):
                found[task] = each
                progress(f"{len(found)} of {len(tasks)} programs are compared")
        errors = (each for task in tasks if isinstance(each := found[task], StepError))
        return {task: each for task in tasks if isinstance(each := found[task], Comparison)}, next(errors, None)


def _lost(task: Task, reason: str) -> Done:
    return task, SimulationError(f"program {task[2]} of {task[1]}: {reason}")
