"""Points of StreamTensor's models on a U55C: cycles of a token behind a text, and of a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path

from experiments.rows import digest
from experiments.streamtensor.models import MODELS
from experiments.work import Experiment
from sim_approx import backend as approx
from step import FabricConfig, Graph, Program, machines
from step.programs.prepare import prepare
from step.running.result import RunResult
from step_explore.areas.parts import parts_of
from step_torch import Tiling
from step_torch.generating import LanguageModel

SHOWN = 128
"""Tokens in front of the one whose cycles are compared between models, and clocks."""
MEASURED = {
    "gpt2 fast": (SHOWN, 32, 480),
    "qwen fast": (SHOWN,),
    "llama fast": (SHOWN,),
    "gemma fast": (SHOWN,),
    "gpt2 small": (SHOWN,),
}
"""Tokens in front of the one that is measured, by model and mapping; those between lie on a line."""
CLOCKS = (150, 100)
"""Megahertz of GPT-2 besides those of the machine, `MEGAHERTZ`: at a slower clock memory has more bytes a cycle."""
MEGAHERTZ = machines.U55C.megahertz
PROMPTS = (16, 32)
TOGETHER, WIDE = 4, 256
"""Pseudo channels behind a port, and bytes of the links of products."""
MAPPINGS = {"fast": (8, 32), "small": (4, 16)}
"""Units of a product, and lanes of a vector unit."""
INSIDE = ("_product", "_flat", "_loop", "_gathered", "_all", "_scaled", "_sum")
ATTENTION = ("_read_key", "_read_value", "_product", "_part", "_total")
"""Operators of a product, and of attention, whose links are wide, by the parts and ends of their names."""


@dataclass(frozen=True)
class Point:
    """A token behind so many others, or, with ``prompt``, all of a prompt and the first token behind it."""

    model: str
    mapping: str
    megahertz: int
    past: int = 0
    prompt: int = 1

    @property
    def name(self) -> str:
        """All of its parameters."""
        what = f"prompt {self.prompt}" if self.prompt > 1 else f"past {self.past}"
        return f"{self.model} {self.mapping} {self.megahertz} MHz {what}"


def tokens() -> Iterator[Point]:
    """Points of the tokens behind a prompt."""
    for names, pasts in MEASURED.items():
        model, mapping = names.split()
        yield from (Point(model, mapping, MEGAHERTZ, past) for past in pasts)  # type: ignore[arg-type]
    yield from (Point("gpt2", "fast", each, SHOWN) for each in CLOCKS)


def prompts() -> Iterator[Point]:
    """Points of prompts."""
    yield from (Point("gpt2", "fast", MEGAHERTZ, prompt=count) for count in PROMPTS)  # type: ignore[arg-type]


def mapped(mapping: str, megahertz: float) -> tuple[Tiling, FabricConfig]:
    """Tiles of a mapping, and its fabric without lanes and links of single operators."""
    units, lanes = MAPPINGS[mapping]
    memory = machines.U55C.at(megahertz, together=TOGETHER)
    fabric = FabricConfig(matmul_lanes=512, vector_lanes=lanes, memory=memory, machine="U55C")
    return Tiling(columns=512, side_by_side=units, sum="fused", cache_rows=16), fabric


@cache
def _program(model: str, mapping: str, megahertz: int) -> tuple[LanguageModel, Program]:
    """The program that writes a token, on hardware with wide links where products are."""
    (tiling, fabric), loaded = mapped(mapping, megahertz), MODELS[model].loaded()
    first = replace(MODELS[model], layers=2).loaded()
    short = first.program([0] * 3, 2, tiling=tiling, fabric=fabric, values=False).graph
    fabric = replace(fabric, lanes=_lanes(short), links=_links(short))
    short = first.program([0] * 3, 2, tiling=tiling, fabric=fabric, values=False).graph
    made = loaded._program(tiling, fabric, 1, 1, values=False, is_drawn=False, with_scores=False)
    return loaded, replace(made, graph=replace(made.graph, depths=short.depths))


def _links(graph: Graph) -> dict[str, int]:
    names = [each.name for each in graph]
    products = [each for each in names if each.startswith("quantized_linear") and "_rows" not in each]
    wide = [each for each in products if any(part in each for part in INSIDE)]
    wide += [each for each in names if each.startswith("attention_cache_read") and each.endswith(ATTENTION)]
    return dict.fromkeys([*wide, *(each for each in names if each.startswith("load_quantized"))], WIDE)


def _lanes(graph: Graph) -> dict[str, int]:
    """Lanes of what scales and adds up the sums of groups, which keeps up with a port; and of the head's product."""
    names = [each.name for each in graph if each.operator.function is not None]
    scaled = [each for each in names if each.startswith("quantized_linear") and "_rows" not in each]
    ends = dict.fromkeys((each for each in scaled if "_scaled" in each or "_sum" in each), WIDE // 4)
    return ends | dict.fromkeys((each for each in names if each.startswith("linear_product")), 128)


def _run(point: Point, count: int) -> RunResult:
    model, program = _program(point.model, point.mapping, point.megahertz)
    batch = model.batch([0] * point.prompt, count, past=point.past)
    program = replace(program, inputs={**program.inputs, **batch.inputs(None, None)})
    return approx.run(program.graph, program.inputs, program.fabric, values="control", engine="compiled")


def measured(point: Point) -> dict[str, object]:
    """Cycles of a token, as the difference of runs with three and with one, or of a whole prompt; and parts."""
    model = MODELS[point.model]
    first = _run(point, 1)
    cycles: float = first.cycles
    if point.prompt == 1:
        cycles = (_run(point, 3).cycles - first.cycles) / 2
    _, program = _program(point.model, point.mapping, point.megahertz)
    used = {each.part: each.amount for each in parts_of(prepare(program).netlist)}
    bytes_a_cycle = 460e3 / point.megahertz
    return {
        **asdict(point),
        "cycles": cycles,
        "bound": round(model.weights / 2 / bytes_a_cycle),
        "operators": len(program.graph.nodes),
        **used,
    }


def sources(figure: str) -> str:
    """A digest of the files that decide the results."""
    return digest("fabric", __file__, Path(__file__).with_name("models.py"))


PARTS = ("luts", "dsps", "block_rams", "ultra_rams")
COLUMNS = (
    *("point", *(each.name for each in fields(Point)), "cycles", "bound", "operators", *PARTS),
    *("cpu_seconds", "sources", "version"),
)
CAMPAIGN = Experiment(
    "streamtensor",
    COLUMNS,
    {"tokens": tokens, "prompts": prompts},
    measured,
    sources,
    lambda row: f"{float(row['cycles']):,.0f} cycles",
)
