"""What can be asked of runs, by name: one place that says what each option may be, whoever takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any

import numpy as np

from step.errors import InputError
from step.host.nearest import did_you_mean
from step.host.paths import named_file

LONGEST_RUN = 1 << 62
"""Cycles that no run takes."""


def integer(name: str, value: Any, least: int = 1, most: int = LONGEST_RUN) -> int:
    """``value`` as an integer within its limits; raises `InputError`."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not number or value < least:
        raise InputError(f"{name} must be an integer >= {least}, not {value!r}")
    if value > most:
        raise InputError(f"{name} must be at most {most:,}, not {value:,}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """``value`` as a truth value; raises `InputError`."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """``value``, which can be called; raises `InputError`."""
    if not callable(value):
        raise InputError(f"{name} must be a function, not {value!r}")
    return value


def by_name(name: str, value: Any) -> Any:
    """``value``, which has things by name; raises `InputError`."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a dictionary, by name, not {value!r}")
    return value


def sequence(name: str, value: Any) -> Any:
    """``value``, which has things one after the other; raises `InputError`."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping | Set):
        raise InputError(f"{name} must be a list, not {value!r}")
    return value


def number(name: str, value: Any) -> float:
    """``value`` as a number >= 0; raises `InputError`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= 0:
        raise InputError(f"{name} must be a number >= 0, not {value!r}")
    return float(value)


OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "max_cycles": integer,
    "jobs": integer,
    "threads": integer,
    "search": integer,
    "seed": partial(integer, least=0),
    "events": flag,
    "jump": flag,
    "optimize": flag,
    "bound": flag,
    "record": flag,
    "progress": function,
    "timing_of": function,
    "depths": by_name,
    "arrivals": by_name,
    "loss": number,
    "waves": lambda name, value: named_file(value, name, ".vcd", ".fst"),
    "calibration": lambda name, value: named_file(value, name),
}


def settled(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` as they can be, but for those that are None, which are not given; raises `InputError`."""
    given = {name: value for name, value in options.items() if value is not None}
    return {name: OPTIONS[name](name, value) if name in OPTIONS else value for name, value in given.items()}


def options_for(taker: Callable[..., Any], options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """`settled` ``options`` for ``taker``, which is called ``what``; raises `InputError` for those it does not take."""
    parameters = inspect.signature(taker).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        known += options
    for name, value in options.items():
        if name not in known and value is not None:
            takes = f"{did_you_mean(name, known)}it takes {', '.join(known) or 'none'}"
            raise InputError(f"{name} has no effect on {what}; {takes}")
    return settled(options)
