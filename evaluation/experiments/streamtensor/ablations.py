"""GPT-2 without the mapping, without joins, and with other depths of channels, those of a linear program among them."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rows import digest
from experiments.streamtensor import layers, models, points
from experiments.streamtensor.models import GROUP, MODELS
from experiments.work import Experiment
from step import FabricConfig, Graph, Program, Simulator, machines, metrics, size_fifos
from step.host.sources import folder_of
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


def ablations() -> Iterator[Point]:
    """All of them."""
    return (Point(what, variant) for what, each in VARIANTS.items() for variant in each)


def measured(point: Point) -> dict[str, object]:
    """Cycles, and what else is compared."""
    found: dict[str, Callable[[str], dict[str, object]]] = {"mapping": _mapping, "joins": _joins, "depths": _depths}
    return {"bits": None, "off_chip": None, **asdict(point), **found[point.what](point.variant)}


def _mapped(model: LanguageModel, variant: str = "whole") -> Program:
    """The program of ``model`` on the larger hardware, or without a part of that."""
    tiling, fabric = points.mapped("fast", points.MEGAHERTZ)
    if variant == "none":
        tiling, fabric = Tiling(columns=NARROW), DEFAULT
    elif variant == "one unit each":
        tiling = replace(tiling, side_by_side=1)
    elif variant == "default lanes":
        fabric = replace(fabric, matmul_lanes=DEFAULT.matmul_lanes, vector_lanes=DEFAULT.vector_lanes)
    elif variant == "a channel each":
        fabric = replace(fabric, memory=DEFAULT.memory)
    made = model._program(tiling, fabric, 1, 1, values=False, is_drawn=False, with_scores=False)
    lanes = {} if variant in ("default lanes", "none") else points._lanes(made.graph)
    links = {} if variant in ("no wide links", "none") else points._links(made.graph)
    return replace(made, fabric=fitting(made.graph, replace(fabric, lanes=lanes, links=links)))


def _mapping(variant: str) -> dict[str, object]:
    """Cycles of a token behind `SHOWN`, as the difference of runs with three and with one."""
    model = GPT2.loaded()
    program, cycles = _mapped(model, variant), list[int]()
    for count in (1, 3):
        inputs = model.batch([0], count, past=points.SHOWN).inputs()
        cycles.append(Simulator(program, inputs={**program.inputs, **inputs}).run().cycles)
    return {"cycles": (cycles[1] - cycles[0]) / 2}


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


def _joins(variant: str) -> dict[str, object]:
    """Cycles of a prompt through a layer of full size; without joins whole values are held on chip, or in memory."""
    import torch

    import step_torch

    made = models._module(replace(GPT2, captured=1)).to(torch.bfloat16).eval()
    step_torch.quantize(made, weights=4, group=GROUP)
    rows = torch.randn(1, ROWS, GPT2.hidden, dtype=torch.bfloat16)
    tiling = Tiling(held=False, on_chip={"values in memory": 0, "values on chip": 1 << 30}.get(variant, 1 << 20))
    with tempfile.TemporaryDirectory() as folder:
        found = imported.load(step_torch.capture(step_torch.Layers(made), (rows,), Path(folder) / "layer.pt2"))
    importer = (Importer if variant == "there" else _Apart)(
        found.archive,
        found.nodes,
        dict(zip(found.nodes.inputs, found.archive.results[0].inputs, strict=True)),
        replace(found.tiling, held=tiling.held, on_chip=tiling.on_chip),
        Graph("layer"),
    )
    importer.run()
    graph, fabric = importer.graph, replace(DEFAULT, matmul_lanes=512)
    program = with_depths(Program(graph, importer.inputs, imported._with_room(fitting(graph, fabric), graph)))
    return {"cycles": Simulator(program).run().cycles, "off_chip": metrics(program).off_chip_bytes}


def _depths(variant: str) -> dict[str, object]:
    """Cycles of two tokens behind `SHOWN` through two layers, and bits of channels with depths found otherwise."""
    model = replace(GPT2, layers=GPT2.captured).loaded()
    program = _mapped(model)
    inputs = {**program.inputs, **model.batch([0], 2, past=points.SHOWN).inputs()}
    program = replace(program, inputs=inputs)
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
    files = (each.__file__ for each in (layers, models, points))
    return digest("fabric", __file__, *files, folder_of("step_torch"), folder_of("step_explore"))


COLUMNS = ("point", "what", "variant", "cycles", "bits", "off_chip", "cpu_seconds", "sources", "version")
CAMPAIGN = Experiment(
    "streamtensor", COLUMNS, {"ablations": ablations}, measured, sources, lambda row: f"{row['cycles']} cycles"
)
