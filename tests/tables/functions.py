"""The page of functions: their operands, and their cycles on the default fabric."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from scenarios import SCENARIOS

import step.functions
from step.errors import TypeMismatch
from step.language.dims import dim
from step.language.dtypes import DTYPES
from step.language.function import FUNCTIONS, AccumFunction, FlatMapFunction, Function, MapFunction
from step.language.graph import Graph, Node
from step.language.types import ElementType, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.plans import plan_of
from tables.operators import link, summary

HEAD = """\
# Functions

**What does each function take, in operands and cycles?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. [Numerics](numerics.md) has their roundings.

**Operands**: formats of the operands that the function, with the parameters shown, takes. **II** and **latency** are
cycles for the types shown, on the default fabric. Each family is a meaning, a plan and a datapath: three files.

| function | result | with | operands | shown for | result type | II | latency | files |
|---|---|---|---|---|---|---|---|---|
"""


FILES = {"meaning": "step/functions", "plan": "step/lowering/plans", "datapath": "hw/functions"}
"""What a family has, and where."""


@dataclass(frozen=True)
class Use:
    """A function as a scenario applies it."""

    function: Function
    node: Node
    reduce: bool

    @property
    def inputs(self) -> tuple[ElementType, ...]:
        return tuple(each.element for each in self.node.inputs)

    @property
    def bits(self) -> int:
        return sum(each.bits for each in self.inputs)


def uses() -> dict[tuple[str, str, str], Use]:
    """Of every function, operator that applies it and way to add, the use with the largest operands."""
    found: dict[tuple[str, str, str], Use] = {}
    for scenario in SCENARIOS:
        graph = Graph("scenario")
        scenario.build(graph)
        for node in graph:
            function = node.operator.function
            static = all(each.element.is_static for each in node.inputs)
            if isinstance(function, Function) and static and node.output_types[0].element.is_static:
                reduce = node.operator.name in ("accum", "scan")
                use = Use(function, node, reduce)
                key = function.name, getattr(function, "sum", ""), node.operator.name
                if key not in found or use.bits > found[key].bits:
                    found[key] = use
    return found


def formats(use: Use) -> str:
    """The formats of tiles that the function takes, at every operand; other operands stay what they are."""
    tiles = [at for at, each in enumerate(use.inputs) if isinstance(each, Tile)]
    taken = []
    for dtypes in product(DTYPES.values(), repeat=len(tiles)):
        inputs = list(use.inputs)
        for at, dtype in zip(tiles, dtypes, strict=True):
            tile = inputs[at]
            assert isinstance(tile, Tile)
            inputs[at] = Tile(dtype, tile.rows, tile.cols)
        if _accepts(use, inputs):
            taken.append(dtypes)
    each_alone = [sorted({str(dtypes[at]) for dtypes in taken}, key=list(DTYPES).index) for at in range(len(tiles))]
    text = " x ".join("any" if len(each) == len(DTYPES) else " ".join(each) for each in each_alone)
    mixed = len(taken) == len(list(product(*each_alone)))
    return (text or "-") + ("" if mixed or len(tiles) < 2 else " (alike)")


def _accepts(use: Use, inputs: list[ElementType]) -> bool:
    function = use.function
    try:
        if use.reduce:
            assert isinstance(function, AccumFunction)
            function.state_type((dim(2),), *inputs)
        else:
            assert isinstance(function, MapFunction | FlatMapFunction)
            function.result_type(*inputs)
    except TypeMismatch:
        return False
    return True


def families() -> Iterator[str]:
    """All families, imported."""
    for each in pkgutil.iter_modules(step.functions.__path__):
        importlib.import_module(f"step.functions.{each.name}")
        yield each.name


def functions_page() -> str:
    """The text of docs/functions.md; `LookupError` for a function without a scenario."""
    rows, found, known = [], uses(), set(families())
    for name, function in sorted(FUNCTIONS.items()):
        shown = [use for (used, *_), use in sorted(found.items()) if used == name]
        family = function.__module__.rpartition(".")[2]
        if family not in known or not function.__module__.startswith("step.functions."):
            continue
        if not shown:
            raise LookupError(f"no scenario applies the function {name!r}")
        files = " ".join(link(text, folder, f"{family}.py") for text, folder in FILES.items())
        for use in shown:
            plan = plan_of(use.node, FabricConfig())
            inputs = "<br>".join(map(str, use.inputs))
            rows.append(
                f"| `{use.function}` | {summary(function)} | {use.node.operator.name} | {formats(use)} | {inputs} "
                f"| {use.node.output_types[0].element} | {plan.initiation_interval} | {plan.latency} | {files} |\n"
            )
    return HEAD + "".join(rows)
