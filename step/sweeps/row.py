"""The row of a sweep for one point."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from step.sweeps.axis import Point

REFUSED, LOST = "refused", "lost"


@dataclass(frozen=True)
class Row:
    """The measures of a ``point``; None: not known.

    ``status`` is that of the run (`step.running.result.Status`), ``"refused"`` where program or fabric can not be so,
    or ``"lost"`` where the process that ran it was killed, again and again; ``error`` says why. ``cycles`` are those of
    a run that finished. ``off_chip_bytes``, ``on_chip_bytes``, ``channel_bytes`` and ``flops`` are the metrics of the
    program on its data (`step.metrics`), ``seconds`` what the run took. ``program`` is a
    digest of the program and its data.
    """

    point: Point
    status: str
    cycles: int | None = None
    off_chip_bytes: int | None = None
    on_chip_bytes: int | None = None
    channel_bytes: int | None = None
    flops: int | None = None
    seconds: float | None = None
    error: str | None = None
    program: str | None = None

    def plain(self) -> dict[str, Any]:
        """The parameters, then the measures, by name."""
        return {**self.point, **{name: getattr(self, name) for name in MEASURES}}


MEASURES = tuple(each.name for each in fields(Row) if each.name != "point")

OBJECTIVES = ("cycles", "off_chip_bytes", "on_chip_bytes", "channel_bytes")
"""Measures of which less is better."""


def lost(point: Point, reason: str) -> Row:
    """The row of a point whose process was killed, again and again."""
    return Row(point, LOST, error=reason)
