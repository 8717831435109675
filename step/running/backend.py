"""Back ends by name, what they can and what can be asked of them, and the one way to run a program on one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from step.errors import EnvironmentProblem, InputError, RegistrationError, SimulationError, UnknownName, expect, needing
from step.host.amounts import PICO
from step.host.names import unknown
from step.host.progress import Progress, silent
from step.host.watching import watched
from step.language.parameters import settled
from step.lowering.fabric import FabricConfig
from step.programs.energy.model import Energy
from step.programs.metrics import Metrics, metrics_of
from step.programs.prepare import Inputs, Openable, Prepared, open_program, prepare
from step.programs.program import Program
from step.programs.tables import Columns, table
from step.running.expectation import Deviation, deviation
from step.running.interpreter import bind, interpreted
from step.running.options import options_for
from step.running.output import ACTIVITIES, Output, activities, outputs_of
from step.running.result import RunResult

GROUP = "step.backends"


@dataclass(frozen=True)
class Backend:
    """Engine that runs programs; an entry point in the group ``step.backends`` is one, and its name is the back end's.

    ``run`` is called with a `Prepared` and returns a `RunResult`; a run that fails is a `SimulationError` with the
    result up to there as its ``result``. The options that a back end takes are the keyword arguments of ``run``:
    ``max_cycles``, ``events`` and ``waves`` where it has these, ``progress`` if it tells of long runs, and its own.
    ``timed``: its cycles are those of the program's fabric. ``outputs``: it has them without being asked; another one
    that takes ``values`` has them where these are ``all``.
    """

    run: Callable[..., RunResult]
    timed: bool = False
    outputs: bool = False

    @property
    def options(self) -> list[str]:
        """Options of a run."""
        return [each.name for each in inspect.signature(self.run).parameters.values() if each.kind is each.KEYWORD_ONLY]

    def takes(self, option: str) -> bool:
        """Whether ``option`` has an effect: one of `options`, or what needs ``timed`` cycles, or ``outputs``."""
        if option == "outputs":
            return self.outputs or "values" in self.options
        return self.timed if option == "timed" else option in self.options


def names() -> list[str]:
    """Names of all back ends that are installed, sorted."""
    return sorted(each.name for each in entry_points(group=GROUP))


def backend(name: str) -> Backend:
    """The back end called ``name``; raises `InputError` for other names, `EnvironmentProblem` where what it needs is
    not installed, and `RegistrationError` for an entry point that is none."""
    known = names()
    if not isinstance(name, str) or name not in known:
        raise UnknownName(unknown("back end", name, known))
    found = _loaded(name)
    if not isinstance(found, Backend):
        raise RegistrationError(f"the back end {name} must be a step.running.backend.Backend, not {found!r}")
    return found


@cache
def _loaded(name: str) -> Any:
    """Object that the entry point ``name`` stands for."""
    (entry,) = entry_points(group=GROUP, name=name)
    with needing(f"the back end {name}"):
        return entry.load()


def able(option: str) -> list[str]:
    """The back ends that take ``option`` (see `Backend.takes`), of those whose modules are installed."""
    found = []
    for name in names():
        with suppress(EnvironmentProblem):
            if backend(name).takes(option):
                found.append(name)
    return found


def runner(name: str, options: Mapping[str, Any], progress: Progress = silent) -> Callable[[Prepared], RunResult]:
    """The back end ``name`` with ``options``, of which None are not given, and which is told of ``progress``.

    Raises `InputError` for options that the back end does not have, and for bad values.
    """
    found = backend(name)
    given = options_for(found.run, options, f"the back end {name}")
    settled(progress, Callable, "progress", InputError)
    return partial(found.run, **given, **({"progress": progress} if found.takes("progress") else {}))


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """Run of ``program`` to its end; ``result`` is the record of it, which files hold.

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
            raise InputError(f"a run on the back end {self.backend} has no cycles; {' and '.join(able('timed'))} have")
        return self.result.cycles

    @property
    def seconds(self) -> float:
        """Time of the run at the clock of its fabric; raises `InputError` where nobody states that."""
        found = self.program.fabric.seconds(self.cycles)
        if found is None:
            raise InputError(f"the fabric of {self.program.name} has no clock; state one: FabricConfig(mhz=100)")
        return found

    @property
    def watts(self) -> float:
        """`energy` by `seconds`; raises what these do."""
        return float(self.energy.total) * PICO / self.seconds

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
        expect(found.close, f"{self.program.name} on {self.backend}: {found.first}", SimulationError)
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
        shown = activities(self.result, self._caption) if self.result.operators else ""
        if self.result.outputs is None:
            return shown
        rows = [(name, each.type) for name, each in self.outputs.items()]
        return shown + table(("output", "type"), rows, "" if shown else self._caption)  # else that of operators has it


def run(
    program: Openable,
    backend: str = "rtl",
    *,
    inputs: Inputs | None = None,
    fabric: FabricConfig | None = None,
    max_cycles: int | None = None,
    events: bool = False,
    waves: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Run of ``program`` on a back end, to its end.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``backend``: "rtl" simulates the hardware, "approx" is the fast model, "interpret" has outputs and no time.
    ``inputs``: data by name, or an .npz file, in the place of the program's own.
    ``fabric``: a `FabricConfig` in the place of the program's own.
    ``max_cycles``: cycles after which a timed run fails.
    ``events``: True records the cycle of every token.
    ``waves``: a .vcd or .fst file for those of the RTL.
    ``progress``: told what is going on; without one a terminal or a notebook shows it, unless the environment has
    ``STEP_PROGRESS=0``.
    ``options``: what else the back end takes. ``values="all"`` lets the fast model compute outputs, ``jump=False`` go
    through all repetitions of regular phases; ``on_token`` is told the name of a sink and every token that leaves the
    program there, as it does (``on_token(name, token)``; on the fast model with all values).

    Raises `SimulationError` with the ``result`` up to there where the run fails, `InputError` for data that does not
    fit and for options that the back end does not have, and the other errors of `step.errors`; warns of what is
    doubtful in the program (`ProgramWarning`).

    >>> run = step.run(program, "approx", values="all")
    >>> run.operators["operator"].tolist(), run.outputs["y"].numpy().ravel()
    (['x', 'accum_0', 'y'], array([ 6., 15.], dtype=float32))
    """
    wanted = {"max_cycles": max_cycles, "events": None if events is False else events, "waves": waves, **options}
    with watched(progress) as telling:
        runs = runner(backend, wanted, telling)  # bad options are told before anything else is done
        opened = open_program(program, inputs=inputs, fabric=fabric)
        prepared = prepare(opened)
        prepared.warn()
        return Run(opened, runs(prepared))


INTERPRET = Backend(interpreted, outputs=True)
