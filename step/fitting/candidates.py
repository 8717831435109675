"""An integer program: which width each group should have, by formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from step.fitting.choices import Group, Lanes

Budget = Mapping[str, float]
"""The most of a resource of `step.areas.Area`, by its name."""


def narrowest(groups: Sequence[Group], firings: Sequence[int], cycles: float, latency: float) -> Lanes | None:
    """The widths with the least LUT sites with which no group is busy for more than ``cycles``, and results come at
    most ``latency`` cycles later in all; None where there are none.

    ``firings``: the most of an operator of each group.
    """
    return _solved(groups, firings, cycles, latency=latency)


def fastest(groups: Sequence[Group], firings: Sequence[int], spare: Budget, weight: float) -> Lanes | None:
    """The widths with which the busiest group is busy for the fewest cycles, and ``weight`` times the cycles by which
    results come later, which take no more than is ``spare``; None where there are none."""
    return _solved(groups, firings, None, spare=spare, weight=weight)


def _solved(
    groups: Sequence[Group],
    firings: Sequence[int],
    cycles: float | None,
    *,
    latency: float = np.inf,
    spare: Budget | None = None,
    weight: float = 0.0,
) -> Lanes | None:
    """One variable for every width, 1 where it is taken, and the last one for the cycles of the busiest group."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    owners = [at for at, group in enumerate(groups) for _ in group.widths]
    widths = [width for group in groups for width in group.widths]
    busy = np.array([firings[at] * each.interval for at, each in zip(owners, widths, strict=True)], float)
    least = [min(each.latency for each in group.widths) for group in groups]
    later = np.array([each.latency - least[at] for at, each in zip(owners, widths, strict=True)], float)
    count = len(widths)
    one = np.array([[float(owner == at) for owner in owners] + [0.0] for at in range(len(groups))])
    most = np.hstack([one[:, :count] * busy, -np.ones((len(groups), 1))])
    constraints = [LinearConstraint(one, 1, 1), LinearConstraint(most, -np.inf, 0)]
    constraints.append(LinearConstraint(np.append(later, 0.0)[None], -np.inf, latency))
    for name, amount in (spare or {}).items():
        takes = [getattr(each.area, name) for each in widths]
        constraints.append(LinearConstraint(np.append(takes, 0.0)[None], -np.inf, amount))
    sites = np.array([each.area.lut_sites for each in widths])
    cost = np.append(sites, 1e-3) if cycles is not None else np.append(weight * later + 1e-6 * sites, 1.0)
    upper = np.append(np.ones(count), np.inf if cycles is None else cycles)
    found = milp(
        cost,
        integrality=np.append(np.ones(count), 0),
        bounds=Bounds(np.zeros(count + 1), upper),
        constraints=constraints,
        options={"time_limit": 5.0},
    )
    if found.x is None:
        return None
    chosen = {at: each.lanes for each, at, taken in zip(widths, owners, found.x[:-1], strict=True) if taken > 0.5}
    return tuple(chosen[at] for at in range(len(groups)))
