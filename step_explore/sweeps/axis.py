"""An axis of a sweep: the values of one parameter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from step.errors import InputError, expect
from step.host.pairs import pair

Value = int | float | bool | str
Point = Mapping[str, Value]
"""A value for every parameter that is swept over."""

MOST_VALUES = 1 << 16
"""The most values of one range: more are a slip of the pen."""


SWEEP = "a sweep must be NAME=VALUE,VALUE,... or NAME=LOW..HIGH"


@dataclass(frozen=True)
class Axis:
    """``values`` of the parameter called ``name``, in the order in which they are taken."""

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        expect(self.values, f"{self.name} has no values to sweep over", InputError)
        twice = [each for place, each in enumerate(self.values) if each in self.values[:place]]
        if twice:
            raise InputError(f"{self.name} has the value {twice[0]!r} twice")


def parse_axis(text: str) -> Axis:
    """``NAME=1,2,4``, ``NAME=16..256`` (doubled: 16, 32, ..., 256), ``NAME=2..10:4`` (2, 6, 10), or a mixture.

    Values are integers, numbers, true, false, or else texts. Raises `InputError` for anything else.
    """
    name, values = pair(text, SWEEP)
    return Axis(name, tuple(value for part in values.split(",") for value in _values(name, part)))


def _values(name: str, text: str) -> Iterable[Value]:
    expect(text, f"{name} has an empty value", InputError)
    match = re.fullmatch(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?::([0-9]{1,18}))?", text)
    if match is None:
        return [parse_value(text)]
    low, high, step = int(match[1]), int(match[2]), int(match[3] or 0)
    expect(low <= high, f"{name}={text} is empty: {low} is more than {high}", InputError)
    if match[3] is None:
        doubled = [low << times for times in range((high // max(low, 1)).bit_length())]
        if low < 1 or doubled[-1] != high:
            raise InputError(
                f"{name}={low}..{high}: doubling {low} does not lead to {high}; steps are written {low}..{high}:1"
            )
        return doubled
    if step == 0 or (high - low) % step:
        raise InputError(f"{name}={text}: steps of {step} do not lead from {low} to {high}")
    if (high - low) // step >= MOST_VALUES:
        raise InputError(f"{name}={text} has {(high - low) // step + 1:,} values, more than {MOST_VALUES:,}")
    return range(low, high + 1, step)


def parse_value(text: str) -> Value:
    """An integer, a number, true or false (also as Python writes them), or the text itself."""
    if text in ("true", "false", "True", "False"):
        return text.lower() == "true"
    if re.fullmatch(r"-?[0-9]{1,30}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+|-?[0-9]+(\.[0-9]+)?e[-+]?[0-9]+", text):
        return float(text)
    return text


def named(point: Point) -> str:
    """``rows=4, columns=16``."""
    return ", ".join(f"{name}={value}" for name, value in point.items())


def grid(axes: Sequence[Axis]) -> list[Point]:
    """All points of ``axes``; the last one changes fastest."""
    names = [each.name for each in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(each.values for each in axes))]
