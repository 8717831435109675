"""The row of a sweep for one point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from step.errors import InputError
from step.host.amounts import BYTES, BYTES_A_CYCLE, PICOJOULES, Quantity, counted
from step.running.result import Status
from step_explore.sweeps.axis import Point

if TYPE_CHECKING:
    from step.programs.program import Program
    from step_explore.sweeps.subject import Subject

REFUSED, OVER, BOUNDED, LOST = "refused", "over", "bounded", "lost"

STATUSES = (*map(str, Status), REFUSED, OVER, BOUNDED, LOST)


@dataclass(frozen=True)
class Row:
    """The measures of a ``point``; None: not known.

    ``status`` is that of the run (`step.running.result.Status`), ``"refused"`` where program or fabric can not be so,
    ``"over"`` where it takes more than a budget, ``"bounded"`` where no hardware was fitted, as other rows take less
    than the least that this one could, which its measures are, or ``"lost"`` where the process that ran it was killed,
    again and again; ``error`` says why. ``cycles`` are those of a run that finished, ``flops_per_cycle``,
    ``useful_flops_per_cycle`` and ``bytes_per_cycle`` (off chip) what it reached, and ``bound`` what it was bound by
    (`step.running.bound.bound_by`). ``off_chip_bytes``, ``on_chip_bytes``, ``channel_bytes``, ``load_bytes``, ``flops``
    and ``useful_flops`` are the metrics of the program on its data (`step.metrics`), ``energy`` its picojoules;
    ``lanes`` are those of all operators, ``lut_sites`` an estimate of the area (docs/areas.md). ``dynamic_tiles``:
    whether tiles have a dynamic number of rows; ``useful_at_most``: whether useful operations are only an upper bound.
    ``tokens`` are so many as a parameter says, by which ``cycles_per_token`` are. ``seconds`` is what the row took.
    ``digest`` is another one for another program, other data or another fabric; ``fitted`` has the hardware that
    `step.tune` fitted to the point (`step.programs.files.fitted.FittedFile.text`), and ``asked`` what for
    (`step_explore.tuning.trial.Trial.asked`). ``subject`` makes the program of the row again.
    """

    point: Point
    status: str
    cycles: int | None = None
    flops_per_cycle: float | None = None
    useful_flops_per_cycle: float | None = None
    bytes_per_cycle: float | None = None
    bound: str | None = None
    off_chip_bytes: int | None = None
    on_chip_bytes: int | None = None
    channel_bytes: int | None = None
    load_bytes: int | None = None
    flops: int | None = None
    useful_flops: int | None = None
    energy: int | None = None
    lanes: int | None = None
    lut_sites: int | None = None
    dynamic_tiles: bool | None = None
    useful_at_most: bool | None = None
    tokens: int | None = None
    cycles_per_token: float | None = None
    seconds: float | None = None
    error: str | None = None
    digest: str | None = None
    fitted: str | None = None
    asked: str | None = None
    subject: Subject | None = field(default=None, repr=False, compare=False)

    def program(self) -> Program:
        """The program of this point, with its fabric and data; raises where that can not be, as ``status`` says."""
        if self.subject is None:
            raise InputError("this row is of no sweep that ran here; sweep again with save=, which runs nothing twice")
        return self.subject.program(self.point)

    def of_tokens(self, tokens: int | None) -> Row:
        """The same of a program that takes so many ``tokens``."""
        each = round(self.cycles / tokens, 6) if tokens and self.cycles is not None else None
        return replace(self, tokens=tokens, cycles_per_token=each)

    def plain(self) -> dict[str, Any]:
        """The parameters, then the measures, by name."""
        return {**self.point, **{name: getattr(self, name) for name in MEASURES}}


MEASURES = tuple(each.name for each in fields(Row) if each.name not in ("point", "subject"))

TEXTS = ("status", "bound", "error", "digest", "fitted", "asked")

PER_TOKEN = "cycles_per_token"


@dataclass(frozen=True)
class Measure:
    """A number of rows: its ``heading`` in a table and its ``label`` on an axis of a plot, its ``unit`` there (None: a
    count, which a table shows in full), and the dimension of a ``limit`` of it; ``whole``: it is an integer."""

    heading: str = ""
    label: str = ""
    unit: str | None = ""
    limit: Quantity = BYTES
    whole: bool = True


NUMBERS: Mapping[str, Measure] = {
    "cycles": Measure("cycles", "cycles", None, counted("cycles")),
    "flops_per_cycle": Measure("FLOP/cycle", whole=False),
    "useful_flops_per_cycle": Measure("useful", whole=False),
    "bytes_per_cycle": Measure("B/cycle", limit=BYTES_A_CYCLE, whole=False),
    "off_chip_bytes": Measure("off chip", "off-chip traffic", "B"),
    "on_chip_bytes": Measure("on chip", "on-chip memory", "B"),
    "channel_bytes": Measure("channels", "memory of the FIFOs", "B"),
    "load_bytes": Measure("loads", "queues of loads", "B"),
    "flops": Measure(),
    "useful_flops": Measure(),
    "energy": Measure("energy", "energy", "J", PICOJOULES),
    "lanes": Measure("lanes", "lanes", None, counted("lanes")),
    "lut_sites": Measure("LUTs", "area [LUTs]", "", counted("LUT sites")),
    "tokens": Measure(),
    PER_TOKEN: Measure("cycles/token", "cycles per token", whole=False),
    "seconds": Measure(whole=False),
}
"""Measures that are numbers, in the order of their columns."""

OBJECTIVES = tuple(name for name, each in NUMBERS.items() if each.label)
"""Measures of which less is better."""

PICO = 1e-12
"""Joules of one of ``energy``."""


def lost(point: Point, reason: str) -> Row:
    """The row of a point whose process was killed, again and again."""
    return Row(point, LOST, error=reason)
