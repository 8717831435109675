"""Values that a program's function takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from step.errors import InputError, ProgramError, expect
from step.host.progress import Progress
from step_explore.sweeps.axis import Value
from step_explore.sweeps.question import axis_of
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
    texts = {name: values for name, values in over.items() if isinstance(values, str) and LEGAL.fullmatch(values)}
    found, limits = dict(over), {name: [*map(int, re.findall("[0-9]+", text))] for name, text in texts.items()}
    first = {name: limits[name][0] if name in limits else axis_of(name, over[name]).values[0] for name in over}
    for name, (low, high) in limits.items():
        expect(low <= high < low + MOST, f"{name}={texts[name]} has no values, or more than {MOST:,}", InputError)
        legal, refusal = list[Value](), ""
        for value in range(low, high + 1):
            try:
                subject.program({**first, name: value})
                legal.append(value)
            except ProgramError as error:
                refusal = first_line(error)
            progress(f"{name}: {len(legal)} of the values up to {value} make a program")
        expect(legal, f"no {name} from {low} to {high} makes a program; of the last one: {refusal}", InputError)
        found[name], first[name] = legal, legal[0]
    return found
