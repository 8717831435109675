"""Timing of functions that make selectors."""

from __future__ import annotations

from sim_approx.timing import Timing
from step.functions.select import TopK
from step.language.function import Function
from step.language.types import Tile
from step.lowering.application import Application


def timing(function: Function, application: Application) -> Timing:
    """Wires: the result is there with the first word.

    To find the largest of n scores, all of them are compared with one in a cycle, or with as many as `vector_lanes`
    comparisons allow; before that they are brought together, and behind it all are counted.
    """
    if isinstance(function, TopK):
        (tile,) = application.inputs
        assert isinstance(tile, Tile)
        scores = tile.shape[1]
        steps = -(-scores // max(1, application.fabric.vector_lanes // scores))
        return Timing(steps, steps + 1)
    return Timing(1, 0, streams=True)
