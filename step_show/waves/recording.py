"""One run of a program of which every token is kept, whatever end it comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from step.errors import InputError, SimulationError
from step.host.progress import Progress, silent
from step.lowering.netlist import Netlist
from step.programs.prepare import Openable, Prepared, prepare
from step.running.backend import runner
from step.running.result import ChannelEvents, RunResult, Status


@dataclass(frozen=True)
class Recording:
    """The run of ``netlist``; ``failure`` says what is wrong with it, the tokens up to there are in it none the less.

    The cycles from ``first`` to before ``end`` are what is asked for.
    """

    netlist: Netlist
    result: RunResult
    failure: SimulationError | None
    first: int
    end: int

    @property
    def events(self) -> Mapping[str, ChannelEvents]:
        """The tokens of every channel."""
        assert self.result.events is not None
        return self.result.events


def record(
    program: Openable | Prepared,
    name: str,
    first: int = 0,
    last: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Recording:
    """Run ``program`` on the back end ``name``, one that records events, up to and with the cycle ``last``.

    Without ``last`` to its end; ``options`` are for the back end. Raises `InputError` where ``first`` is behind
    ``last`` or behind the end of the run, and what a back end raises before it runs; a run that failed before ``first``
    raises its failure.
    """
    limit, prepared = checked_limit(first, last), prepare(program)
    run = runner(name, {**options, "events": True, "max_cycles": limit}, progress)
    result, failure = ended(lambda: run(prepared), first)
    return Recording(prepared.netlist, result, failure, first, result.cycles)


def checked_limit(first: int, last: int | None) -> int | None:
    """The most cycles of a run up to and with the cycle ``last``; raises `InputError` where ``first`` is behind it."""
    if last is not None and last < first:
        raise InputError(f"the first cycle, {first}, must not be behind the last one, {last}")
    return None if last is None else last + 1


def ended(run: Callable[[], RunResult], first: int) -> tuple[RunResult, SimulationError | None]:
    """The result of a ``run``, whatever end it comes to, and what is wrong with it.

    Raises that, or `InputError`, where the run ends before the cycle ``first``.
    """
    failure: SimulationError | None = None
    try:
        result = run()
    except SimulationError as error:
        if error.result is None:
            raise
        result = error.result
        failure = None if result.status == Status.RUNAWAY else error  # it was stopped because it was told to
    if first >= result.cycles:
        raise failure or InputError(f"the run has {result.cycles} cycles, so there is no cycle {first}")
    return result, failure
