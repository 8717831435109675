"""Data that a plot takes from a run besides its counters."""

from __future__ import annotations

from collections.abc import Mapping

from sim_approx.simulator import Simulator
from step.errors import InputError
from step.running.backend import Run
from step.running.profile import RunProfile
from step.running.result import ChannelEvents


def events_of(run: Run) -> Mapping[str, ChannelEvents]:
    """The tokens of every channel: those that ``run`` kept, or else those of the same run on the fast model.

    Raises `InputError` where that run is another one.
    """
    if run.result.events is not None:
        return run.result.events
    again = Simulator(run.program).run(events=True)
    _check(run, again.cycles)
    assert again.result.events is not None
    return again.result.events


def profile_of(run: Run, intervals: int) -> RunProfile:
    """The work of operators and memory in at most so many ``intervals`` of ``run``, as the fast model has it.

    Raises `InputError` where its run is another one.
    """
    found = Simulator(run.program).profile(intervals=intervals)
    _check(run, found.cycles)
    return found


def _check(run: Run, cycles: int) -> None:
    if cycles != run.cycles:
        raise InputError(
            f"the fast model takes {cycles:,} cycles for {run.program.name}, not the {run.cycles:,} of this run: it "
            "was made with other depths, another memory or other data than those of its program"
        )
