"""Integer programs, whose variables have any names, for HiGHS, which is in SciPy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

Sum = Mapping[Any, float]
"""Factors of variables, by their names."""

Constraint = tuple[Sum, float, float]
"""A sum, and its least and its greatest value."""


def least(
    cost: Sum,
    names: Sequence[Any],
    most: Sum,
    whole: Collection[Any],
    constraints: Iterable[Constraint],
    **options: Any,
) -> tuple[Any, dict[Any, float] | None]:
    """The result of `scipy.optimize.milp` with ``options`` for the variables ``names``, of the least ``cost``, and its
    values by name, None where there are none.

    All are at least 0 and at ``most`` so large, if that is said; those that are ``whole`` are integers.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    sums, low, high = zip(*constraints, strict=True)
    place = {name: at for at, name in enumerate(names)}
    entries = [(at, place[name], factor) for at, each in enumerate(sums) for name, factor in each.items()]
    rows, columns, factors = zip(*entries, strict=True)
    matrix = coo_array((factors, (rows, columns)), shape=(len(sums), len(names)))
    result = milp(
        [cost.get(name, 0.0) for name in names],
        integrality=[name in whole for name in names],
        bounds=Bounds(0, [most.get(name, np.inf) for name in names]),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
        options=options,
    )
    return result, None if result.x is None else dict(zip(names, result.x, strict=True))
