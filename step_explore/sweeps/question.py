"""The question of a sweep, or of a tuning: which values of some parameters are good in some objectives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from step.errors import InputError, expect
from step.host.nearest import did_you_mean
from step.language.parameters import plain, settled
from step.lowering.fabric import is_of_fabric
from step.lowering.settings import check_settings
from step_explore.sweeps.axis import Axis, Point, Value, parse_axis
from step_explore.sweeps.front import check_objectives
from step_explore.sweeps.row import CLOCKED, PER_TOKEN

if TYPE_CHECKING:
    from step_explore.sweeps.subject import Subject


@dataclass(frozen=True)
class Question:
    """Combinations of ``axes`` should have little of the ``objectives``: all of them, or so many as a ``search``
    chooses from a ``seed``.

    There is a front for each value of the parameters ``per``; ``tokens`` is the parameter, or the argument with a
    value in ``fixed``, that says how many there are.
    """

    axes: tuple[Axis, ...]
    objectives: tuple[str, ...]
    search: int | None = None
    seed: int = 0
    per: tuple[str, ...] = ()
    tokens: str | None = None
    fixed: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `InputError` for what can not be."""
        check_objectives(self.objectives)
        expect(self.axes, "there is nothing to sweep over; give parameters with their values", InputError)
        known = {each.name: each.values for each in self.axes}
        for place, name in enumerate(self.per):
            _check_known("per must name parameters that are swept over", name, known)
            expect(name not in self.per[:place], f"per has {name} twice", InputError)
        if self.per and self.search is not None:
            raise InputError("a search looks for one front: leave out per, or search for each of its values alone")
        if self.tokens is None:
            if PER_TOKEN in self.objectives:
                raise InputError(f"the objective {PER_TOKEN} needs tokens, the parameter that says how many there are")
            return
        known |= {name: (value,) for name, value in self.fixed.items()}
        _check_known("tokens must name a parameter or an argument", self.tokens, known)
        for value in known[self.tokens]:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"tokens must name a parameter of integers >= 1, but {self.tokens} may be {value!r}")

    @property
    def first(self) -> Point:
        """The first value of every axis."""
        return {each.name: each.values[0] for each in self.axes}

    def check_first(self, subject: Subject) -> None:
        """Raise what there is wrong with the first point of ``subject``, and `InputError` where its fabric has no clock
        and an objective needs one."""
        subject.at(self.first)
        for name in CLOCKED:
            if name in self.objectives and subject.program(self.first).fabric.seconds(1) is None:
                raise InputError(f"the objective {name} needs a clock, such as the setting fabric.mhz=100")

    def tokens_at(self, point: Point) -> int | None:
        """Tokens at ``point``; None where nobody says."""
        count = None if self.tokens is None else {**self.fixed, **point}[self.tokens]
        assert count is None or isinstance(count, int)
        return count

    def group(self, point: Point) -> tuple[Value, ...]:
        """The values of ``per`` at ``point``: rows are compared within one group."""
        return tuple(point[name] for name in self.per)


def _check_known(must: str, name: object, known: Collection[str]) -> None:
    if name not in known:
        raise InputError(f"{must}, not {name!r}; {did_you_mean(str(name), known)}there are {', '.join(known)}")


def check_apart(what: str, names: Iterable[str], other: str, others: Iterable[str]) -> None:
    """Raise `InputError` for a parameter that is among the ``names`` of ``what`` and those of the ``other``."""
    for twice in sorted(set(names) & set(others)):
        raise InputError(f"{twice} has values in {what} and in {other}: leave one of them out")


def axes_of(
    over: Mapping[str, Sequence[Value] | str], arguments: Mapping[str, Value] | None, settings: Sequence[str]
) -> tuple[Axis, ...]:
    """The axes of what a user sweeps ``over``; raises `InputError` for a parameter that has a value in ``arguments`` or
    ``settings``, too."""
    axes = tuple(axis_of(name, values) for name, values in settled(over, Mapping, "over", InputError).items())
    names = [each.name for each in axes]
    check_apart("over", names, "arguments", arguments or {})
    check_settings([*settings, *filter(is_of_fabric, names)])
    return axes


def axis_of(name: str, values: Sequence[Value] | str) -> Axis:
    """The axis of the parameter ``name``, with the ``values`` of a user; raises `InputError` where these are none."""
    expect(isinstance(name, str), f"a parameter to sweep over must be a name, not {name!r}", InputError)
    if isinstance(values, str):
        return parse_axis(f"{name}={values}")
    return Axis(name, tuple(map(plain, settled(values, Iterable[Any], name, InputError))))


def names_of(per: Sequence[str] | str) -> tuple[str, ...]:
    """The parameters that ``per`` names, one or several."""
    return (per,) if isinstance(per, str) else tuple(settled(per, Iterable[Any], "per", InputError))
