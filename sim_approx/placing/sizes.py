"""The pace of units between which tiles of dynamic size pass: a firing with one of n rows takes their time."""

from __future__ import annotations

from sim_approx.placing.site import UnitSite
from step.firing.machine import Pace, Sizes
from step.language.function import Function
from step.language.types import ElementType
from step.lowering.links import data_words


def stored_sizes(site: UnitSite, element: ElementType | None) -> Sizes:
    """Sizes of a unit between tiles of ``element`` and a memory: a burst are their words, if any."""

    def pace(rows: int) -> Pace:
        words = data_words(element, site.fabric.link_bytes, rows)
        return Pace(max(1, words), 0, words)

    return pace


def function_sizes(site: UnitSite, function: Function, *, reduce: bool, stored: bool = False) -> Sizes:
    """Sizes of a unit that applies ``function``, as `UnitSite.timing` has it."""

    def pace(rows: int) -> Pace:
        timing = site.timing(function, reduce=reduce, stored=stored, rows=rows)
        return Pace(timing.initiation_interval, timing.latency, site.beats_with(rows)[-1])

    return pace
