"""Points of StreamTensor's models on a U55C: cycles of a token behind a text, and of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from typing import Any

from experiments.rows import digest
from experiments.streamtensor import models
from experiments.streamtensor.models import MODELS
from experiments.work import Experiment
from sim_approx import backend as approx
from step import FabricConfig, Graph, Program, machines
from step.lowering.netlist import lower
from step.programs.prepare import prepare
from step.running.result import RunResult
from step_explore.areas.parts import parts_of
from step_torch import Tiling
from step_torch.generating import SHOWING, LanguageModel

SHOWN = 128
"""Tokens in front of the one whose cycles are compared between models, and clocks."""
CONTEXTS = (SHOWN, 32, 480)
"""Tokens in front of those of GPT-2 that are measured; those between lie on a line."""
CLOCKS = (150, 100)
"""Megahertz of GPT-2 besides those of the machine, `MEGAHERTZ`: at a slower clock memory has more bytes a cycle."""
MEGAHERTZ = machines.U55C.megahertz
PROMPTS = (32, 64, 128, 256)
OTHERS = ("qwen", "llama", "gemma")
"""Models of which prompts up to `SHOWN` tokens are measured, and the tokens behind."""
OWN = {"gemma": "more"}
"""Mappings of their own that these have for it."""
TOGETHER, WIDE = 4, 256
"""Pseudo channels behind a port, and bytes of the links of products."""


@dataclass(frozen=True)
class UnitChoice:
    """Units of a product, lanes of a vector unit, heads that are attended at once, and rows of a chunk of a prompt.

    ``columns``: most of a tile; those of a product are joined in memory where they are whole links. ``depth``: of the
    tiles of the head, None: all of it. ``shared``: products of a layer share the units. ``rows``: lanes of rows that
    are quantised. ``fabric``: further parameters of the fabric. ``own``: lanes of operators by how their names begin,
    where others wait for memory, or for a row. ``links``: bytes of links, likewise; without these links are wide around
    products.
    """

    units: int
    lanes: int
    heads: int
    chunk: int = 1
    columns: int = 512
    depth: int | None = None
    shared: bool = False
    rows: int = WIDE // 4
    fabric: dict[str, Any] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)


MAPPINGS = {
    "fast": UnitChoice(8, 32, 2),
    "narrow": UnitChoice(8, 32, 2, columns=256),
    "small": UnitChoice(4, 16, 1),
    "chunks": UnitChoice(8, 32, 4, 8),
    "more": UnitChoice(16, 32, 4, 8, columns=256),
    "part": UnitChoice(
        *(4, 32, 1),
        depth=128,
        fabric={"outstanding": 20, "block_ram_words": 64},
        own={
            "linear_product": 16,
            **{f"quantized_linear_{which}": 16 for which in ("scaled", "sum")},
            **{f"quantized_linear_{at}_{which}": 32 for at in (1, 2, 3) for which in ("scaled", "sum")},
        },
    ),
    "shared": UnitChoice(
        *(8, 16, 1, 4),
        depth=128,
        columns=1024,
        shared=True,
        rows=32,
        fabric={"outstanding": 31, "block_ram_words": 64},
        own={"shared_product_": 1024, "shared_scaled": 128, "shared_sum": 128},
        links={
            **dict.fromkeys(("shared_product", "shared_load_weights", "shared_scaled", "shared_whole"), 2 * WIDE),
            **{"shared_sum": 2 * WIDE, "shared_sums": 32},
            **dict.fromkeys(("shared_load_scales", "linear_product", "load_linear"), WIDE),
        },
    ),
}
"""Of these, ``chunks`` takes prompts in chunks, on the hardware that writes, ``more`` does so with more units; ``part``
and ``shared``, which takes prompts so, too, fit into the `U55C`."""
WITHIN = "shared"
"""The mapping whose tokens and prompts are shown."""
INSIDE = ("_product", "_flat", "_loop", "_gathered", "_all", "_scaled", "_sum")
ATTENTION = ("_read_key", "_read_value", "_product", "_part", "_total")
ROWS = ("_rows_magnitudes", "_rows_largest", "_rows_scaled", "_rows")
"""Operators of a product, of attention, and of rows that are quantised, whose links are wide, by the ends of their
names."""
ATTENDING = 128
"""Lanes of the products of attention: as many as a port brings keys for."""
WAITING = {"attention": 8, "mul": 12, "quantized_linear_2_biased": 12}
"""Slots of channels by how their names begin: as many heads are on their way to memory and back, and parts of a row
wait for the longer way through GELU."""


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
    yield from (Point("gpt2", WITHIN, MEGAHERTZ, past) for past in CONTEXTS)  # type: ignore[arg-type]
    yield Point("gpt2", "chunks", MEGAHERTZ, SHOWN)  # type: ignore[arg-type]
    yield from (Point(model, "fast", MEGAHERTZ, SHOWN) for model in MODELS)  # type: ignore[arg-type]
    yield from (Point("gpt2", each, MEGAHERTZ, SHOWN) for each in ("part", "small"))  # type: ignore[arg-type]
    yield from (Point("gpt2", "fast", each, SHOWN) for each in CLOCKS)
    yield from (Point(model, OWN.get(model, "chunks"), MEGAHERTZ, SHOWN) for model in OTHERS)  # type: ignore[arg-type]


def prompts() -> Iterator[Point]:
    """Points of prompts."""
    yield from (Point("gpt2", WITHIN, MEGAHERTZ, prompt=count) for count in PROMPTS)  # type: ignore[arg-type]
    others = ((model, OWN.get(model, "chunks"), count) for model in OTHERS for count in PROMPTS if count <= SHOWN)
    yield from (Point(model, mapping, MEGAHERTZ, prompt=count) for model, mapping, count in others)  # type: ignore[arg-type]


def mapped(mapping: str, megahertz: float) -> tuple[Tiling, FabricConfig]:
    """Tiles of a mapping, and its fabric without lanes and links of single operators."""
    chosen, memory = MAPPINGS[mapping], machines.U55C.at(megahertz, together=TOGETHER)
    fabric = FabricConfig(matmul_lanes=512, vector_lanes=chosen.lanes, memory=memory, machine="U55C", **chosen.fabric)
    tiling = Tiling(
        columns=chosen.columns, depth=chosen.depth, side_by_side=chosen.units, shared=chosen.shared, sum="fused",
        cache_rows=16, heads=chosen.heads,
    )  # fmt: skip
    return tiling, fabric


@cache
def _program(model: str, mapping: str, megahertz: int) -> tuple[LanguageModel, Program]:
    """The program that writes a token."""
    loaded = MODELS[model].loaded()
    return loaded, program_of(loaded, mapping, megahertz, values=False)


def program_of(
    model: LanguageModel,
    mapping: str,
    megahertz: float,
    prompt: Sequence[int] = (0,),
    count: int = 2,
    *,
    scale: int = 1,
    values: bool = True,
) -> Program:
    """The program that writes behind a prompt, on hardware with wide links where products are; columns of tiles, lanes
    and links are those of the mapping divided by ``scale``."""
    (tiling, fabric), chunk = mapped(mapping, megahertz), MAPPINGS[mapping].chunk
    matmul_lanes, vector_lanes = fabric.matmul_lanes // scale, max(1, fabric.vector_lanes // scale)
    tiling = replace(tiling, columns=tiling.most_columns // scale)
    fabric = replace(fabric, matmul_lanes=matmul_lanes, vector_lanes=vector_lanes)

    def program(of: LanguageModel, fabric: FabricConfig, *, values: bool) -> Program:
        return of.program(prompt, count, tiling=tiling, fabric=fabric, values=values, chunk=chunk)

    plain = program(model.first(SHOWING), fabric, values=False).graph
    lanes, links = (
        {name: max(1, each // scale) for name, each in of(plain, mapping).items()} for of in (lanes_of, links_of)
    )
    made = program(model, replace(fabric, lanes=lanes, links=links), values=values)
    depths = {
        each.name: max(slots, each.depth)
        for each in lower(made.graph, made.fabric).channels
        for start, slots in WAITING.items()
        if each.name.startswith(start)
    }
    return replace(made, graph=replace(made.graph, depths={**(made.graph.depths or {}), **depths}))


def links_of(graph: Graph, mapping: str = "fast") -> dict[str, int]:
    """Bytes of the links of products, of attention, and of what brings their weights, keys and values."""
    names, own = [each.name for each in graph], MAPPINGS[mapping].links
    attention = [each for each in names if each.startswith("attention_cache") and each.endswith(ATTENTION)]
    attention += [each for each in names if each.startswith(("attention_last_", "attention_append_"))]
    if own:
        found = {each: count for start, count in own.items() for each in names if each.startswith(start)}
        return found | dict.fromkeys(attention, WIDE)
    products = [each for each in names if each.startswith("quantized_linear")]
    wide = [each for each in products if each.endswith(ROWS)]
    wide += [each for each in products if "_rows" not in each and any(part in each for part in INSIDE)]
    wide += [each for each in names if each.startswith("load_quantized")]
    return dict.fromkeys([*wide, *attention], WIDE)


def lanes_of(graph: Graph, mapping: str = "fast") -> dict[str, int]:
    """Lanes of what scales and adds up the sums of groups, which keeps up with a port, as do rows that are quantised;
    of products of attention and of the head; and of those that the mapping names."""
    names = [each.name for each in graph if each.operator.function is not None]
    products = [each for each in names if each.startswith("quantized_linear")]
    scaled = (each for each in products if "_rows" not in each and ("_scaled" in each or "_sum" in each))
    found = dict.fromkeys(scaled, WIDE // 4)
    found |= dict.fromkeys((each for each in products if each.endswith(ROWS)), MAPPINGS[mapping].rows)
    attending = (each for each in names if each.startswith("attention_cache") and each.endswith(("_product", "_part")))
    heads = (each for each in names if each.startswith("linear_product"))
    found |= dict.fromkeys((*attending, *heads), ATTENDING)
    return found | {
        each: count for start, count in MAPPINGS[mapping].own.items() for each in names if each.startswith(start)
    }


def _run(point: Point, count: int) -> RunResult:
    (model, program), chosen = _program(point.model, point.mapping, point.megahertz), MAPPINGS[point.mapping]
    batch = model.batch([0] * point.prompt, count, past=point.past, chunk=chosen.chunk, shared=chosen.shared)
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
    return digest("torch", __file__, models.__file__)


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
