"""Values that a program's function takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from step.errors import InputError, ProgramError
from step.host.progress import Progress
from step_explore.sweeps.axis import Value, parse_axis
from step_explore.sweeps.subject import Subject, first_line

LEGAL = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9}):legal")

MOST = 4096
"""Values of one range: each of them makes a program."""

Over = Mapping[str, Sequence[Value] | str]


def derived(subject: Subject, over: Over, progress: Progress) -> dict[str, Sequence[Value] | str]:
    """``over`` with values in the place of texts such as ``1..64:legal``: those of 1, 2, .., 64 with which there is a
    program at the first values of the other parameters.

    Raises `InputError` where none of them is one, with what the function says of the last.
    """
    found, first = dict(over), {name: _first(name, values) for name, values in over.items()}
    for name, values in over.items():
        match = LEGAL.fullmatch(values) if isinstance(values, str) else None
        if match is None:
            continue
        low, high = int(match[1]), int(match[2])
        if not low <= high < low + MOST:
            raise InputError(f"{name}={values} has no values, or more than {MOST:,}")
        legal, refusal = list[Value](), ""
        for value in range(low, high + 1):
            try:
                subject.program({**first, name: value})
                legal.append(value)
            except ProgramError as error:
                refusal = first_line(error)
            progress(f"{name}: {len(legal)} of the values up to {value} make a program")
        if not legal:
            raise InputError(f"no {name} from {low} to {high} makes a program; of the last one: {refusal}")
        found[name], first[name] = legal, legal[0]
    return found


def _first(name: str, values: Sequence[Value] | str) -> Value:
    """The first value of a parameter, the lowest one of a range."""
    if not isinstance(values, str):
        return next(iter(values), 0) if isinstance(values, Sequence) else values
    match = LEGAL.fullmatch(values)
    return int(match[1]) if match else parse_axis(f"{name}={values}").values[0]
