"""An import: every node of a captured module by its lowering, all in one graph."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from step import BF16, BOOL, FP32, DType, Graph, Stream
from step.errors import InputError
from step.functions import Cast, RetileStreamify
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step_torch.archive import Archive
from step_torch.joins import Join, Joiner, NoJoin
from step_torch.layouts import Axis, Layout, Value
from step_torch.nodes import Meta, Node, Nodes, Ref
from step_torch.registry import lowering_of
from step_torch.sources import Sources, Stored, Unsupported

FORMATS: dict[str, DType] = {"bfloat16": BF16, "float32": FP32, "bool": BOOL}
"""Formats of torch that streams have."""


@dataclass(frozen=True)
class Tiling(metaclass=Checked):
    """``rows`` of the tiles of activations and ``columns`` of those of weights, where an axis is not shorter. Where so
    many columns do not divide it, tiles have the most that do.

    ``held``: weights stay on chip, and are read once; else they are read for every tile of activations. ``on_chip``:
    bytes that a buffer of a join may have; what is larger goes through off-chip memory. ``cache_rows``: of the tiles of
    KV caches. ``depth``: products with weights, but for those of experts, take so much of their depth at a time, of
    weights that lie in memory in this order; else all of it, of weights as they are in torch. The sums are the same.
    ``sum`` is that of all products; "fused" ones have other bits. ``side_by_side``: such a product is so many units, of
    which each loads and multiplies its share of the columns; ``columns`` is not asked then.
    """

    rows: int = 4
    columns: int = 16
    held: bool = True
    on_chip: int = 1 << 20
    cache_rows: int = 4
    depth: int | None = None
    sum: Sum = "ordered"
    side_by_side: int = 1

    refused = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)


@dataclass
class Importer:
    """The import of ``nodes`` into ``graph``; its lowerings call it for what they need."""

    archive: Archive
    nodes: Nodes
    data: dict[str, np.ndarray]
    tiling: Tiling
    graph: Graph
    inputs: dict[str, Any] = field(default_factory=dict)
    joins: list[Join] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    cuts: dict[Any, Value] = field(default_factory=dict)
    sources: Sources = field(init=False)
    node: Node = field(init=False)

    def __post_init__(self) -> None:
        self.sources = Sources(self)

    def run(self) -> None:
        """Lower all nodes, and store the outputs; raises `InputError` with all that can not be."""
        self.enter()
        self.lower(self.nodes.nodes)
        for number, output in enumerate(self.nodes.outputs):
            name = "output" if len(self.nodes.outputs) == 1 else f"output{number}"
            with self.told():
                self.store(output, name)

    @contextmanager
    def told(self) -> Iterator[None]:
        """What is lowered meanwhile, behind the last node, fails with `InputError`."""
        try:
            yield
        except (Unsupported, NoJoin) as error:
            raise InputError(f"'{self.archive.path}': {self.node.op} at {self.node.place}: {error}") from None

    def enter(self) -> None:
        """Parameters and inputs as values that nobody has read."""
        for name, target in self.nodes.parameters.items():
            kept = self.archive.weights[target].dtype
            if kept != BF16.numpy:
                raise InputError(
                    f"'{self.archive.path}': {target!r} is {kept}, not bfloat16: call .to(torch.bfloat16) on the "
                    "module before step_torch.capture"
                )
            own = re.sub(r"\W", "_", target)
            own = own if own[0].isalpha() else f"weight_{own}"  # of modules that have numbers for names
            self.values[name] = self.stored(own, self.archive.weights[target], is_parameter=True)
        for name in self.nodes.inputs:
            self.values[name] = self.stored(name, self.data[name], is_parameter=False)

    def stored(self, name: str, data: np.ndarray, *, is_parameter: bool) -> Stored:
        """``data`` as a value that nobody has read."""
        return Stored(name, data, self.axes(name, data.shape), is_parameter)

    def axes(self, name: str, shape: Sequence[int]) -> tuple[tuple[Axis, ...], ...]:
        """A new axis for every dimension of more than one."""
        return tuple((Axis(f"{name}_{at}", extent),) if extent > 1 else () for at, extent in enumerate(shape))

    def lower(self, nodes: Sequence[Node]) -> None:
        """The values of ``nodes``; raises `InputError` that lists all without a lowering.

        What reads a value that is missing for that is listed only if no operator of its kind has a lowering.
        """
        failed: dict[str, None] = {}
        lost = set[str]()
        for node in nodes:
            lowering = lowering_of(node.op)
            if lowering is None:
                failed[f"{node.op} at {node.place}"] = None
                lost.update(node.results)
            elif lost.intersection(node.reads):
                lost.update(node.results)
            else:
                try:
                    self._lower(node, lowering)
                except (Unsupported, NoJoin) as error:
                    failed[f"{node.op} at {node.place}: {error}"] = None
                    lost.update(node.results)
        if failed:
            lines = "".join(f"\n  {each}" for each in failed)
            operators = f"{len(failed)} operator{'s' * (len(failed) > 1)}"
            raise InputError(f"'{self.archive.path}' has {operators} without a lowering:{lines}")

    def _lower(self, node: Node, lowering: Callable[..., Any]) -> None:
        self.node = node
        args = [self._argument(each) for each in node.args]
        options = {name: self._argument(each) for name, each in node.options.items()}
        try:
            inspect.signature(lowering).bind(self, *args, **options)
        except TypeError as error:
            raise Unsupported(f"its lowering does not take these arguments: {error}") from None
        with self.graph.at(node.place.location):
            result = lowering(self, *args, **options)
        results = result if isinstance(result, tuple) else (result,)
        self.values.update(zip(node.results, results, strict=False))

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, list):
            return [self._argument(each) for each in arg]
        return self.values[arg.name] if isinstance(arg, Ref) else arg

    # -- what lowerings ask ---------------------------------------------------------------------------------------

    @property
    def meta(self) -> Meta:
        """Format and extents of the node's first result."""
        return self.nodes.metas[self.node.name]

    @property
    def dtype(self) -> DType:
        """The format of the node's first result; raises `Unsupported` where no stream has it."""
        if self.meta.dtype not in FORMATS:
            raise Unsupported(f"its result is {self.meta.dtype}, and streams have {', '.join(FORMATS)}")
        return FORMATS[self.meta.dtype]

    def name(self, hint: str = "") -> str:
        """A name for an operator of this node that no other has."""
        stem = re.sub(r"\W", "_", f"{self.node.name}_{hint}" if hint else self.node.name)
        name, number = stem, 1
        while name in self.graph.nodes or name in self.graph.tensors or f"{name}_chunks" in self.graph.nodes:
            number += 1
            name = f"{stem}_{number}"
        return name

    @property
    def joiner(self) -> Joiner:
        """Joins in front of this node."""
        return Joiner(
            self.graph,
            self.node.name,
            self.node.place,
            self.joins,
            self.tiling.on_chip,
            self.name,
            self.cuts,
            self.inputs,
        )

    def value(self, given: Any) -> Value:
        """``given`` as a stream, in the layout that comes by itself."""
        if isinstance(given, Stored):
            return self.sources.natural(given)
        return given if isinstance(given, Value) else given.value(self)

    def in_layout(self, given: Any, wanted: Layout, why: str) -> Value:
        """``given`` in the layout ``wanted``."""
        if isinstance(given, Stored):
            return self.sources.read(given, wanted)
        return self.joiner.to(self.value(given), wanted, why)

    def whole_rows(self, given: Any, why: str) -> Value:
        """``given`` in tiles that have all of the last axis."""
        value = self.value(given)
        axes = value.dims[-1]
        return self.joiner.columns(value, axes[0].extent, why) if axes else value

    def rounded(self, stream: Stream) -> Stream:
        """``stream`` in the format that the node has in torch, if it is wider."""
        if self.dtype is BF16 and stream.element.tiles[0].dtype is not BF16:
            return stream.map(Cast(BF16), name=self.name("rounded"))
        return stream

    def store(self, output: str, name: str) -> None:
        """The value ``output`` as an output of the program, row by row."""
        value = self.value(self.values[output])
        value = self.whole_rows(value, "an output is stored row by row")
        rows = value.layout.rows
        order = [part for axes in value.dims[:-1] for axis in axes for part in value.layout.loops if part.axis == axis]
        value = self.joiner.reordered(value, order, "an output is stored in the order of torch")
        stream = value.stream
        if rows is not None and rows.count > 1:
            stream = stream.flat_map(RetileStreamify(1, "row"), name=self.name(f"{name}_rows"))
        stream.store(name)


def with_dtype(value: Value, stream: Stream, dtype: DType) -> Value:
    """``value`` with another stream of the same layout."""
    return replace(value, stream=stream, dtype=dtype)
