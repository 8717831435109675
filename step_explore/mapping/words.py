"""Why a choice won, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from step.running.result import Status
from step_explore.mapping.search import Candidate
from step_explore.sweeps.axis import named
from step_explore.sweeps.row import Row
from step_explore.tuning.budget import Budget, measure

LIMITS = 60
"""Percent of the cycles; what works as long as that limits a program."""


def why(candidates: Sequence[Candidate], best: Row, budget: Budget, smaller: Mapping[int, Candidate]) -> str:
    """Sentences on what limits ``best``, the next one, changes of a single parameter, and ``smaller`` hardware."""
    within = (f"  within {n:,} lut_sites: {_takes(each, best)}, {named(each.row.point)}" for n, each in smaller.items())
    return "\n".join([*_sentences(candidates, best, budget), *within])


def _sentences(candidates: Sequence[Candidate], best: Row, budget: Budget) -> Iterator[str]:
    mine = next(each for each in candidates if each.row is best)
    taken = (f"{measure(best, name) or 0:,.0f} of {limit:,.0f} {name}" for name, limit in budget.limits.items())
    yield f"{named(best.point)} is the fastest: {best.cycles:,} cycles, with {', '.join(taken)}"
    yield f"{_limit(best)}; {_widest(mine, best)}"
    others = [each.row for each in candidates if each.row.status == Status.FINISHED and each.row is not best]
    if others:
        second = min(others, key=lambda row: row.cycles or 0)
        yield (
            f"the next best, {named(second.point)}, takes {second.cycles:,} cycles ({_more(second.cycles, best)}), "
            f"with {second.lut_sites:,} lut_sites"
        )
    for name in best.point:
        near = [each for each in candidates if _differs(each.row, best, name)]
        if near:
            yield f"  other {name}: " + "; ".join(f"{each.row.point[name]} {_takes(each, best)}" for each in near)


def _limit(best: Row) -> str:
    """The bound of ``best``: what works nearly always, or the way through the program."""
    name, _, part = (best.bound or "nothing 0%").rpartition(" ")
    if float(part.rstrip("%")) >= LIMITS:
        return f"it is limited by {name}, which works for {part} of the cycles"
    return (
        f"nothing works for more than {part} of the cycles ({name}): the way from the first load to the end limits it"
    )


def _widest(mine: Candidate, best: Row) -> str:
    """Cycles that more area would save."""
    if mine.fewest >= (best.cycles or 0):
        return "more area would not make it faster"
    return (
        f"on the widest hardware, {mine.whole.lut_sites:,} lut_sites, it would take {mine.fewest:,} cycles "
        f"({_more(mine.fewest, best)})"
    )


def _takes(each: Candidate, best: Row) -> str:
    row = each.row
    if row.status == Status.FINISHED:
        return "is the same" if row.cycles == best.cycles else f"{row.cycles:,} cycles ({_more(row.cycles, best)})"
    return f"is {row.error}"


def _differs(row: Row, best: Row, name: str) -> bool:
    """Whether it is another choice of ``name``, and of nothing else."""
    return [each for each in best.point if row.point[each] != best.point[each]] == [name]


def _more(cycles: int | None, best: Row) -> str:
    part = (cycles or 0) / (best.cycles or 1) - 1
    return f"{abs(part):.1%} {'more' if part >= 0 else 'fewer'}"
