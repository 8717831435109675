"""GPT-2 without the mapping, without joins, and with other depths of channels, those of a linear program among them."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rows import digest
from experiments.streamtensor import layers, models, points
from experiments.streamtensor.models import GROUP, MODELS
from experiments.work import Experiment
from step import FabricConfig, Graph, Program, Simulator, machines, metrics, size_fifos
from step.lowering.netlist import lower
from step_explore.fifos.runs import Runs
from step_explore.fifos.shrink import LEAST
from step_explore.integer_program import Constraint, least
from step_models.fabrics import fitting
from step_torch import Tiling, imported
from step_torch.depths import with_depths
from step_torch.generating import LanguageModel
from step_torch.importing import Importer
from step_torch.layouts import Value
from step_torch.nodes import TorchNode

GPT2 = MODELS["gpt2"]
DEFAULT = FabricConfig(memory=machines.U55C.at(points.MEGAHERTZ), machine="U55C")
"""The fabric that there is where nobody asks for another one, with the memory of the machine."""
ROWS, NARROW = 32, 16
"""Tokens of the prompt that goes through a layer with joins and without; columns of a tile where nobody chooses."""
DEEP = 1 << 12
"""A depth that no run of the linear program's fills."""
CHOICES = 300
"""Choices of depths that the exact search tries at most."""


@dataclass(frozen=True)
class Point:
    """A ``variant`` of mapping, joins or depths; the first of each is what all other files have."""

    what: str
    variant: str

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.what} {self.variant}"


VARIANTS = {
    "mapping": ("whole", "no wide links", "default lanes", "one unit each", "a channel each", "none"),
    "joins": ("there", "values on chip", "values in memory"),
    "depths": ("lowerings", "two", "linear program", "exact search"),
}
"""Of mapping and depths for tokens through two layers, of joins for a prompt through one."""


def ablations() -> Iterator[Point]:
    """All of them."""
    return (Point(what, variant) for what, each in VARIANTS.items() for variant in each)


def measured(point: Point) -> dict[str, object]:
    """Cycles, and what else is compared."""
    found: dict[str, Callable[[str], dict[str, object]]] = {"mapping": _mapping, "joins": _joins, "depths": _depths}
    return {"bits": None, "off_chip": None, **asdict(point), **found[point.what](point.variant)}


@cache
def _made(tiling: Tiling) -> tuple[LanguageModel, Program]:
    """Two layers, and their program, whatever the fabric."""
    model = replace(GPT2, layers=GPT2.captured).loaded()
    return model, model._program(tiling, DEFAULT, 1, 1, values=False, is_drawn=False, with_scores=False)


def _mapped(count: int, variant: str = "whole") -> Program:
    """The program that writes so many tokens behind `SHOWN`, on the larger hardware, or without a part of that."""
    tiling, fabric = points.mapped("fast", points.MEGAHERTZ)
    if variant == "none":
        tiling, fabric = Tiling(columns=NARROW), DEFAULT
    elif variant == "one unit each":
        tiling = replace(tiling, side_by_side=1)
    elif variant == "default lanes":
        fabric = replace(fabric, matmul_lanes=DEFAULT.matmul_lanes, vector_lanes=DEFAULT.vector_lanes)
    elif variant == "a channel each":
        fabric = replace(fabric, memory=DEFAULT.memory)
    model, made = _made(tiling)
    lanes = {} if variant in ("default lanes", "none") else points.lanes_of(made.graph)
    links = {} if variant in ("no wide links", "none") else points.links_of(made.graph)
    inputs = {**made.inputs, **model.batch([0], count, past=points.SHOWN).inputs()}
    return replace(made, inputs=inputs, fabric=fitting(made.graph, replace(fabric, lanes=lanes, links=links)))


def _mapping(variant: str) -> dict[str, object]:
    """Cycles of a token, as the difference of runs with three and with one."""
    first, third = (Simulator(_mapped(count, variant)).run().cycles for count in (1, 3))
    return {"cycles": (third - first) / 2}


class _Apart(Importer):
    """An import in which the result of every operator that computes is there as a whole before anybody reads it."""

    def _lower(self, node: TorchNode, lowering: Callable[..., Any]) -> None:
        super()._lower(node, lowering)
        value = self.values.get(node.name)
        if isinstance(value, Value) and value.layout.loops and node.op.split(".")[1] not in layers.MOVES:
            extents = [each.count for each in value.layout.loops]
            strides = [prod(extents[at + 1 :]) for at in range(len(extents))]
            whole = self.joiner.read(value, 0, extents, strides, "it is stored as a whole")
            self.values[node.name] = replace(value, stream=whole)


@cache
def _layer() -> imported.Imported:
    """A layer of full size, for a prompt."""
    import torch

    import step_torch

    made = models.module_of(replace(GPT2, captured=1)).to(torch.bfloat16).eval()
    step_torch.quantize(made, weights=4, group=GROUP)
    rows = torch.randn(1, ROWS, GPT2.hidden, dtype=torch.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        return imported.load(step_torch.capture(step_torch.Layers(made), (rows,), Path(folder) / "layer.pt2"))


def _joins(variant: str) -> dict[str, object]:
    """Cycles of a prompt through a layer; without joins whole values are held on chip, or in memory."""
    layer, on_chip = _layer(), {"values in memory": 0, "values on chip": 1 << 30}.get(variant, Tiling.on_chip)
    data = dict(zip(layer.nodes.inputs, layer.archive.results[0].inputs, strict=True))
    kind, tiling = Importer if variant == "there" else _Apart, replace(layer.tiling, held=False, on_chip=on_chip)
    importer = kind(layer.archive, layer.nodes, data, tiling, Graph("layer"))
    importer.run()
    graph, fabric = importer.graph, replace(DEFAULT, matmul_lanes=512)
    program = with_depths(Program(graph, importer.inputs, imported._with_room(fitting(graph, fabric), graph)))
    return {"cycles": Simulator(program).run().cycles, "off_chip": metrics(program).off_chip_bytes}


def _depths(variant: str) -> dict[str, object]:
    """Cycles of two tokens through two layers, and bits of channels with depths found otherwise."""
    program = _mapped(2)
    runs = Runs(lower(program.graph, program.fabric), [Simulator(program)], threads=1)
    if variant == "exact search":
        found = size_fifos(program, choices=CHOICES, threads=1).lossless
    elif variant == "linear program":
        found = runs.outcome(linear(runs, Simulator(program)))
    else:
        found = runs.outcome(runs.asked if variant == "lowerings" else dict.fromkeys(runs.asked, LEAST))
    return {"cycles": None if found.cycles is None else found.cycles[0], "bits": found.bits}


def linear(runs: Runs, simulator: Simulator) -> dict[str, int]:
    """Depths by a linear program, as StreamTensor's: begins of units, with the least storage in channels between.

    What a unit takes until it sends, and how often it does, is that of a run with deep channels; tokens come evenly.
    """
    events = simulator.run(depths=dict.fromkeys(runs.asked, DEEP), events=True).result.events
    assert events is not None
    cycles = {name: each.cycles for name, each in events.items() if len(each.cycles)}
    channels = [each for each in runs.netlist.channels if each.name in cycles]
    begins, weight, constraints = defaultdict[str, int](int), defaultdict[str, float](float), list[Constraint]()
    for each in channels:
        begins[each.consumer[0]] = max(begins[each.consumer[0]], cycles[each.name][0])
    delay = {each.name: cycles[each.name][0] - begins[each.producer[0]] for each in channels}
    rate = {name: (len(each) - 1) / max(1, each[-1] - each[0]) for name, each in cycles.items()}
    for each in channels:
        storage, sends, takes = rate[each.name] * runs.slot_bits[each.name], each.producer[0], each.consumer[0]
        weight[takes] += storage
        weight[sends] -= storage
        if sends != takes:
            constraints.append(({takes: 1, sends: -1}, delay[each.name], np.inf))
    _, start = least(weight, list(weight), {}, (), constraints)
    assert start is not None
    depths = dict(runs.floor)
    for each in channels:
        waits = start[each.consumer[0]] - start[each.producer[0]] - delay[each.name]
        depths[each.name] = max(LEAST, 1 + ceil(rate[each.name] * waits - 1e-6))
    return depths


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    files = layers.__file__, models.__file__, points.__file__
    return digest("torch", __file__, *files)


COLUMNS = ("point", "what", "variant", "cycles", "bits", "off_chip", "cpu_seconds", "sources", "version")
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"ablations": ablations}, measured, sources, lambda row: f"{row['cycles']} cycles"
)
