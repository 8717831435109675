"""Plans of functions that make selectors, or keep what these would have."""

from __future__ import annotations

from step.functions.select import KeepTopK, TargetIndices, TopK
from step.language.function import Function
from step.lowering.plans.plan import Application, Wires


def plan(function: Function, application: Application) -> Wires:
    """Wires, of which the result is there with the first word; but for `TopK`, `KeepTopK` and `TargetIndices`.

    Of selectors a target is found in a cycle, `TargetIndices.k` in all. Of scores those of a cycle are compared with
    all of their row, on the lanes of that many comparisons; before that they are brought together, and behind it all
    are counted. So it is for each of several rows, one after the other; scores that are kept leave a cycle later.
    """
    if isinstance(function, TargetIndices):
        return Wires.of(function, application, interval=function.k, cycles=function.k)
    if not isinstance(function, TopK | KeepTopK):
        return Wires.of(function, application, streams=True)
    rows, scores = application.words(0).rows, application.words(0).cols
    steps = -(-scores // max(1, application.fabric.vector_lanes // scores))
    cycles, keeps = rows * steps, isinstance(function, KeepTopK)
    return Wires.of(function, application, interval=cycles + keeps, cycles=cycles + 1, at_once=-(-scores // steps))
