"""The row of a sweep for one point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from step.errors import InputError
from step.host.amounts import BYTES, BYTES_A_CYCLE, MILLI, NANO, PICO, PICOJOULES, Quantity, counted, quantity
from step.running.result import Status
from step_explore.sweeps.axis import Point

if TYPE_CHECKING:
    from step.programs.program import Program
    from step_explore.sweeps.subject import Subject

REFUSED, OVER, BOUNDED, LOST = "refused", "over", "bounded", "lost"

STATUSES = (*map(str, Status), REFUSED, OVER, BOUNDED, LOST)


@dataclass(frozen=True)
class Measure:
    """A number of rows: its ``heading`` in a table and its ``label`` on an axis of a plot, its ``unit`` there (None: a
    count, which a table shows in full), and the dimension of a ``limit`` of it; ``whole``: it is an integer. A number
    is so many times ``scale`` of the unit."""

    heading: str = ""
    label: str = ""
    unit: str | None = ""
    limit: Quantity = BYTES
    whole: bool = True
    scale: float = 1.0

    def shown(self, value: float) -> str:
        """``value`` with three digits and the unit."""
        return quantity(value * self.scale, self.unit or "")


def number(*shown: Any, **others: Any) -> Any:
    """The field of a number, which is not known unless it is given; ``shown`` and ``others`` are of its `Measure`."""
    return field(default=None, metadata={"measure": Measure(*shown, **others)})


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
    ``time`` are nanoseconds at the clock of the fabric, where there is one, and ``power`` energy by time in milliwatts;
    ``lanes`` are those of all operators, ``lut_sites`` an estimate of the area (docs/areas.md). ``dynamic_tiles``:
    whether tiles have a dynamic number of rows; ``useful_at_most``: whether useful operations are only an upper bound.
    ``tokens`` are so many as a parameter says, by which ``cycles_per_token`` are. ``seconds`` is what the row took.
    ``digest`` is another one for another program, other data or another fabric; ``fitted`` has the hardware that
    `step.tune` fitted to the point (`step.programs.files.fitted.FittedFile.text`), and ``asked`` what for
    (`step_explore.tuning.trial.Trial.asked`). ``subject`` makes the program of the row again.
    """

    point: Point
    status: str
    cycles: int | None = number("cycles", "cycles", None, counted("cycles"))
    flops_per_cycle: float | None = number("FLOP/cycle", whole=False)
    useful_flops_per_cycle: float | None = number("useful", whole=False)
    bytes_per_cycle: float | None = number("B/cycle", limit=BYTES_A_CYCLE, whole=False)
    bound: str | None = None
    off_chip_bytes: int | None = number("off chip", "off-chip traffic", "B")
    on_chip_bytes: int | None = number("on chip", "on-chip memory", "B")
    channel_bytes: int | None = number("channels", "memory of the FIFOs", "B")
    load_bytes: int | None = number("loads", "queues of loads", "B")
    flops: int | None = number()
    useful_flops: int | None = number()
    energy: int | None = number("energy", "energy", "J", PICOJOULES, scale=PICO)
    time: float | None = number("time", "time", "s", whole=False, scale=NANO)
    power: float | None = number("power", "power", "W", whole=False, scale=MILLI)
    lanes: int | None = number("lanes", "lanes", None, counted("lanes"))
    lut_sites: int | None = number("LUTs", "area [LUTs]", "", counted("LUT sites"))
    dynamic_tiles: bool | None = None
    useful_at_most: bool | None = None
    tokens: int | None = number()
    cycles_per_token: float | None = number("cycles/token", "cycles per token", whole=False)
    seconds: float | None = number(whole=False)
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

TEXTS = tuple(each.name for each in fields(Row) if "str" in str(each.type))

PER_TOKEN = "cycles_per_token"
CLOCKED = ("time", "power")
"""Measures of fabrics with a clock."""

NUMBERS: Mapping[str, Measure] = {each.name: each.metadata["measure"] for each in fields(Row) if each.metadata}
"""Measures that are numbers, in the order of their columns."""

OBJECTIVES = tuple(name for name, each in NUMBERS.items() if each.label)
"""Measures of which less is better."""


def lost(point: Point, reason: str) -> Row:
    """The row of a point whose process was killed, again and again."""
    return Row(point, LOST, error=reason)
