"""The pace of units between which tiles of dynamic size pass: a firing with one of n rows takes their time."""

from __future__ import annotations

from sim_approx.placing.site import UnitSite
from step.firing.machine import Pace, Sizes
from step.language.types import ElementType
from step.lowering.links import data_words


def stored_sizes(site: UnitSite, element: ElementType | None) -> Sizes:
    """Sizes of a unit between tiles of ``element`` and a memory: a burst are their words, if any."""

    def pace(rows: int) -> Pace:
        words = data_words(element, site.fabric.link_bytes, rows)
        return Pace(max(1, words), 0, words)

    return pace
