"""Points of the figures on a floor: cycles with registers on the way between places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import getfile
from pathlib import Path
from statistics import fmean

import step_explore.placing
from experiments.fabric import requests
from experiments.fabric.figures import FIGURES
from experiments.fabric.points import FabricPoint, attentions
from experiments.fabric.record import digest_with
from experiments.work import Experiment
from step import Program, Simulator, place

ATTENTION, MIXTURES = "attention", "mixtures"
SMALLEST = min(requests.ROOM)
"""Requests of the batches of Fig. 21 that are placed, beside those of Fig. 15."""
CHOSEN = {
    "9": ("mixtral 32", "mixtral dynamic", "qwen 32", "qwen dynamic"),
    "12": ("static 128", "static 32", "dynamic 32"),
}
"""The mixtures: the fastest static tiles and dynamic ones, and experts that share regions."""
HOPS = (1, 3)
"""Cycles from a place to the next one."""
COLUMNS = (
    *(
        "point",
        "units",
        "side",
        "cycles",
        *(f"{what}{hop}" for hop in HOPS for what in ("far", "wires", "steps", "most")),
    ),
    *("cpu_seconds", "version", "sources"),
)
"""``cycles`` are without distance, ``far`` with it, ``wires`` where the placement looks at lengths alone; ``steps`` is
the mean of a channel, ``most`` the channels side by side."""


def measured(point: FabricPoint) -> dict[str, object]:
    """The row of a point. A mixture is placed with smaller weights, whose every beat can be recorded: its units are the
    same, and so are its channels."""
    program = point.make()
    result = Simulator(program).run().result
    small = program if point.narrow is None else point.narrow(result.off_chip_bytes)[0]
    row: dict[str, object] = {"cycles": result.cycles}
    for hop in HOPS:
        placed = place(small, hop=hop)
        far = placed.cycles if small is program else _with_hops(program, placed.program.fabric.hops)
        row |= {"units": len(placed.netlist.units), "side": placed.grid.columns}
        row |= {f"far{hop}": far, f"wires{hop}": placed.tried[0] if small is program else None}
        row |= {f"steps{hop}": round(fmean(map(placed.steps, placed.netlist.channels)), 2)}
        row |= {f"most{hop}": max(placed.passing.values())}
    return row


def _with_hops(program: Program, hops: Mapping[str, int]) -> int:
    return Simulator(replace(program, fabric=replace(program.fabric, hops=hops))).run().cycles


def attention() -> Iterator[FabricPoint]:
    """Requests in each arrangement: those of Fig. 15, and of Fig. 21 the smallest batches."""
    yield from requests.prefixes()
    for batch in requests.batches(SMALLEST):
        yield from attentions(*batch)


def mixtures() -> Iterator[FabricPoint]:
    """The points of `CHOSEN`, called as in their figures behind the number of these."""
    for figure, names in CHOSEN.items():
        for point in FIGURES[figure]():
            if point.name in names:
                yield replace(point, name=f"{figure} {point.name}")


def sources(study: str) -> str:
    """A digest of the files that decide the results of a study."""
    figures = CHOSEN if study == MIXTURES else ("15",)
    folder = str(Path(step_explore.placing.__file__).parent)
    return digest_with(*(getfile(FIGURES[each]) for each in figures), folder, __file__)


CAMPAIGN = Experiment("distance", COLUMNS, {ATTENTION: attention, MIXTURES: mixtures}, measured, sources)
