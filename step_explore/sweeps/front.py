"""The points of a sweep that no other one beats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import le
from typing import TypeVar

from step.errors import InputError, expect
from step.host.names import unknown
from step.running.result import Status
from step_explore.sweeps.axis import Value
from step_explore.sweeps.row import OBJECTIVES, Row


def check_objectives(names: Sequence[str]) -> None:
    """Raise `InputError` for what is no objective, and for none."""
    expect(names, f"there must be an objective: {', '.join(OBJECTIVES)}", InputError)
    for place, name in enumerate(names):
        if name not in OBJECTIVES:
            raise InputError(unknown("objective", name, OBJECTIVES))
        expect(name not in names[:place], f"the objective {name} is there twice", InputError)


def costs(row: Row, objectives: Sequence[str]) -> tuple[float, ...] | None:
    """The cost of ``row`` in each of ``objectives``; None where one is not known, or the row did not finish within its
    budget."""
    return values(row, objectives) if row.status == Status.FINISHED else None


def values(row: Row, objectives: Sequence[str]) -> tuple[float, ...] | None:
    """The numbers of ``row`` for ``objectives``, whatever its status is; None where one is not known."""
    found = [getattr(row, name) for name in objectives]
    return None if None in found else tuple(found)


Cost = TypeVar("Cost", bound=tuple[float, ...])


def undominated(costs: Iterable[Cost]) -> list[Cost]:
    """Costs of which no other one is as low in all places and lower in one, sorted."""
    front: list[Cost] = []
    for cost in sorted(set(costs)):  # in this order one can be beaten only by those before it
        if not any(all(map(le, other, cost)) for other in front):
            front.append(cost)
    return front


def pareto_front(rows: Sequence[Row], objectives: Sequence[str]) -> list[Row]:
    """The ``rows`` of which no other one is as good in all ``objectives`` and better in one, the best first.

    Rows that are equal in all of them are all there.
    """
    known = [(cost, row) for row in rows if (cost := costs(row, objectives)) is not None]
    front = undominated(cost for cost, _ in known)
    return [row for cost in front for mine, row in known if mine == cost]


def grouped(rows: Sequence[Row], per: Sequence[str]) -> dict[tuple[Value, ...], list[Row]]:
    """``rows`` by their values of the parameters ``per``, which say what is to be done and not with what."""
    groups = dict[tuple[Value, ...], list[Row]]()
    for row in rows:
        groups.setdefault(tuple(row.point[name] for name in per), []).append(row)
    return groups


def fronts(rows: Sequence[Row], objectives: Sequence[str], per: Sequence[str]) -> list[Row]:
    """The `pareto_front` of each of the groups that differ in the parameters ``per``, one after the other."""
    return [row for group in grouped(rows, per).values() for row in pareto_front(group, objectives)]
