"""Options of runs: what each may be, and who takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from step.errors import InputError
from step.host.nearest import did_you_mean
from step.host.paths import named_file
from step.language.parameters import Count, Within, settled

OPTIONS: Mapping[str, Any] = {
    **dict.fromkeys(("max_cycles", "jobs", "threads", "search", "intervals", "choices"), Count),
    **dict.fromkeys(("events", "jump", "optimize", "bound", "record"), bool),
    **dict.fromkeys(("progress", "timing_of", "on_token"), Callable),
    **dict.fromkeys(("depths", "arrivals"), Mapping),
    **dict.fromkeys(("seed", "latency", "base"), Annotated[int, Within(0)]),
    "watchdog": Annotated[int, Within(0, (1 << 32) - 1)],
    "pauses": Annotated[float, Within(0, 0.9)],
    "values": Literal["control", "all"],
    "engine": Literal["compiled", "python"],
}
"""What each option of a run may be, by its name, whoever takes it."""
FILES: Mapping[str, Sequence[str]] = {"waves": (".vcd", ".fst")}
"""The options that are files, with their endings."""


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` as they can be, but for those that are None, which are not given; raises `InputError`."""
    given = {name: value for name, value in options.items() if value is not None}
    return {
        name: named_file(value, name, *FILES[name])
        if name in FILES
        else settled(value, OPTIONS.get(name, Any), name, InputError)
        for name, value in given.items()
    }


def options_for(taker: Callable[..., Any], options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """`checked_options` for ``taker``, which is called ``what``; raises `InputError` for those it does not take."""
    parameters = inspect.signature(taker).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        known += options
    for name, value in options.items():
        if name not in known and value is not None:
            takes = f"{did_you_mean(name, known)}it takes {', '.join(known) or 'none'}"
            raise InputError(f"{name} has no effect on {what}; {takes}")
    return checked_options(options)
