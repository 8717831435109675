"""Parameters of a sweep that say how much there is to do: fronts of each of their values, and cycles by tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from step.errors import InputError
from step.host.nearest import did_you_mean
from step.language.parameters import settled
from step_explore.sweeps.axis import Axis, Point, Value
from step_explore.sweeps.row import PER_TOKEN


@dataclass(frozen=True)
class Workload:
    """There is a front for each value of the parameters ``per``; ``tokens`` is the parameter, or the argument with a
    value in ``fixed``, that says how many there are."""

    per: tuple[str, ...] = ()
    tokens: str | None = None
    fixed: Mapping[str, Value] | None = None

    @classmethod
    def of(
        cls,
        axes: Sequence[Axis],
        objectives: Sequence[str],
        per: Sequence[str] | str,
        tokens: str | None,
        arguments: Mapping[str, Value] | None,
        search: int | None,
    ) -> Workload:
        """From what a user gives; raises `InputError` for what can not be."""
        known, fixed = {each.name: each.values for each in axes}, dict(arguments or {})
        named = (per,) if isinstance(per, str) else tuple(settled(per, Iterable[Any], "per", InputError))
        for place, name in enumerate(named):
            if name not in known:
                hint = did_you_mean(str(name), known)
                raise InputError(f"per must name parameters that are swept over, not {name!r}; {hint}there are "
                                 f"{', '.join(known)}")  # fmt: skip
            if name in named[:place]:
                raise InputError(f"per has {name} twice")
        if named and search is not None:
            raise InputError("a search looks for one front: leave out per, or search for each of its values alone")
        if tokens is None:
            if PER_TOKEN in objectives:
                raise InputError(f"the objective {PER_TOKEN} needs tokens, the parameter that says how many there are")
            return cls(named)
        values = known.get(tokens, (fixed[tokens],) if tokens in fixed else None)
        if values is None:
            hint = did_you_mean(str(tokens), [*known, *fixed])
            raise InputError(f"tokens must name a parameter or an argument, not {tokens!r}; {hint}there are "
                             f"{', '.join([*known, *fixed])}")  # fmt: skip
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"tokens must name a parameter of integers >= 1, but {tokens} may be {value!r}")
        return cls(named, tokens, fixed)

    def at(self, point: Point) -> int | None:
        """Tokens at ``point``; None where nobody says."""
        if self.tokens is None:
            return None
        count = point[self.tokens] if self.tokens in point else (self.fixed or {})[self.tokens]
        assert isinstance(count, int)
        return count

    def group(self, point: Point) -> tuple[Value, ...]:
        """That of ``point`` within which rows are compared."""
        return tuple(point[name] for name in self.per)
