"""Points of the figures on a floor: cycles with registers on the way between places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from inspect import getfile
from pathlib import Path
from statistics import fmean

import step_explore.placing
from experiments.fabric import requests
from experiments.fabric.figures import FIGURES
from experiments.fabric.points import ARRANGEMENTS, FabricPoint, attentions
from experiments.fabric.record import digest_with
from experiments.work import Experiment
from step import Program, Simulator, place
from step_models.attention import program
from step_models.kv_lengths import sampled_kv_lengths

ATTENTION, MIXTURES = "attention", "mixtures"
SIZES, EACH = (16, 64), 3
"""Requests of the batches of Figs. 14 and 21 of which each third one is placed, beside those of Fig. 15."""
SMALL, SEEDS, REQUESTS, MEAN = "small", 6, 12, 24
"""Batches of the default fabric, whose requests have this mean and standard deviation of lengths."""
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
    whole = point.make()
    result = Simulator(whole).run().result
    small = whole if point.narrow is None else point.narrow(result.off_chip_bytes)[0]
    row: dict[str, object] = {"cycles": result.cycles}
    for hop in HOPS:
        placed = place(small, hop=hop)
        far = placed.cycles if small is whole else _with_hops(whole, placed.program.fabric.hops)
        row |= {"units": len(placed.netlist.units), "side": placed.grid.columns}
        row |= {f"far{hop}": far, f"wires{hop}": placed.tried[0] if small is whole else None}
        row |= {f"steps{hop}": round(fmean(map(placed.steps, placed.netlist.channels)), 2)}
        row |= {f"most{hop}": max(placed.passing.values())}
    return row


def _with_hops(program: Program, hops: Mapping[str, int]) -> int:
    return Simulator(replace(program, fabric=replace(program.fabric, hops=hops))).run().cycles


def attention() -> Iterator[FabricPoint]:
    """Requests in each arrangement: those of Fig. 15, some of Figs. 14 and 21, and small ones."""
    yield from requests.prefixes()
    for size in SIZES:
        for batch in list(requests.batches(size))[::EACH]:
            yield from attentions(*batch)
    for seed in range(SEEDS):
        lengths = sampled_kv_lengths(REQUESTS, mean=MEAN, deviation=MEAN, seed=seed)
        for each in ARRANGEMENTS:
            yield FabricPoint(f"{SMALL} {seed} {each}", partial(program, lengths, arrangement=each, regions=2, heads=1))


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
