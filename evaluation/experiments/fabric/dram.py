"""Figs. 9, 10, 12, 14 and 15 on DRAM of the same bandwidth, and what these programs take of area and energy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from inspect import getfile

from experiments.fabric.figures import FIGURES
from experiments.fabric.points import FabricPoint
from experiments.fabric.record import bytes_of, digest_with, told_of
from experiments.work import Experiment
from step import MemoryConfig, Program, Simulator, bind, metrics
from step_explore.areas import area_of
from step_models.fabrics import PUBLISHED

PRESET = "hbm3"
PICOSECONDS = 1250
"""A cycle of a fabric for which one stack has the published bytes a cycle."""
INTERLEAVED = 8
"""Beats in a row that lie in one channel."""
TRIED = (1, 2, 4, 8, 16, 32)
"""Others, on one mixture and one batch."""
EXAMPLES = {"9": "mixtral dynamic", "15": "B=64 dynamic"}
SHOWN = ("9", "10", "12", "14", "15")
COLUMNS = (
    *("point", "cycles", "off_chip_bytes", "moved_bytes", "picojoules", "lut_sites", "multipliers", "block_rams"),
    *("firings", "tokens", "cpu_seconds", "engine", "version", "sources", "fabric"),
)
"""The area is that of the program on either memory, as ports and what is behind them do not count."""


def memory(interleave: int = INTERLEAVED) -> MemoryConfig:
    """A stack of the preset behind the published ports."""
    found = MemoryConfig.preset(PRESET, latency=PUBLISHED.memory.latency, interleave=interleave)
    assert found.dram is not None
    return replace(found, dram=replace(found.dram, fabric_ps=PICOSECONDS))


def on_dram(figure: str) -> Iterator[FabricPoint]:
    """The points of a figure."""
    return (moved(point, point.name, INTERLEAVED) for point in FIGURES[figure]())


def interleaves() -> Iterator[FabricPoint]:
    """Two points with other numbers of beats in a row."""
    for figure, name in EXAMPLES.items():
        point = next(each for each in FIGURES[figure]() if each.name == name)
        for beats in TRIED:
            yield moved(point, f"{name} {beats}", beats)


def moved(point: FabricPoint, name: str, interleave: int) -> FabricPoint:
    """``point`` on DRAM, called ``name``."""

    def make() -> Program:
        program = point.make()
        return Program(program.graph, program.inputs, replace(program.fabric, memory=memory(interleave)))

    return replace(point, name=name, make=make)


def measured(point: FabricPoint) -> dict[str, object]:
    """The row of a point: the energy is that of its data."""
    program = point.make()
    simulator = Simulator(program)
    result = simulator.run().result
    found = metrics(program)
    return {
        "cycles": result.cycles,
        **bytes_of(point.name, found, point.symbols, result),
        "picojoules": round(float(found.bind(bind(program)).energy.total)),
        **area_of(simulator.netlist).rounded(),
        **told_of(result, program),
    }


def sources(figure: str) -> str:
    """A digest of the files that decide the results of ``figure``."""
    of = EXAMPLES if figure == INTERLEAVE else (figure,)
    return digest_with(*(getfile(FIGURES[each]) for each in of), __file__)


INTERLEAVE = "interleave"
CAMPAIGN = Experiment(
    "dram", COLUMNS, {**{each: partial(on_dram, each) for each in SHOWN}, INTERLEAVE: interleaves}, measured, sources
)
