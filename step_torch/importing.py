"""An import: every node of a captured module by its lowering, all in one graph."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

import ml_dtypes
import numpy as np

from step import BF16, DType, Graph, Stream
from step.errors import GraphError, InputError, TypeMismatch
from step.functions import Cast, RetileStreamify
from step.host.names import unused
from step.language.location import UNKNOWN_LOCATION
from step_torch.archive import Archive
from step_torch.joins import Joiner, NoJoin
from step_torch.layouts import TensorAxis, TileLayout, Value, fitting
from step_torch.nodes import Meta, Nodes, Origin, Ref, TorchNode
from step_torch.ragged import exact
from step_torch.registry import lowerings
from step_torch.sources import STREAMS, Sources, Stored, Unsupported, supported
from step_torch.tiling import Tiling
from step_torch.views import in_shape

_OUTPUT = TorchNode("output", (), {}, ("output",), Origin(UNKNOWN_LOCATION, ""))
"""The node before there is another one."""


@dataclass
class Importer:
    """The import of ``nodes`` into ``graph``; its lowerings call it for what they need."""

    archive: Archive
    nodes: Nodes
    data: dict[str, np.ndarray]
    tiling: Tiling
    graph: Graph
    inputs: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    tensors: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Those of the program, by what they are made of, and how."""
    shared: dict[tuple[Any, ...], tuple[Stream, ...]] = field(default_factory=dict)
    """Streams that several nodes read, by what they are made of, and how."""
    notes: dict[str, None] = field(default_factory=dict)
    """What was chosen for the user."""
    node: TorchNode = _OUTPUT
    """The one that is lowered now."""

    def __post_init__(self) -> None:
        self.joiner, self.sources, self._axes = Joiner(self), Sources(self), set[str]()

    def run(self) -> None:
        """Lower all nodes, and store the outputs; raises `InputError` with all that can not be."""
        if self.tiling.shared:
            raise InputError(f"'{self.archive.path}' writes no tokens: units are shared in a layer of a language model")
        self.enter()
        self.lower(self.nodes.nodes)
        makers = {name: node for node in self.nodes.nodes for name in node.results}
        for output, name in zip(self.nodes.outputs, self.nodes.output_names, strict=True):
            self.node = makers.get(output, self.node)
            with self.told(), self.graph.at(self.node.place.location):
                self.store(output, name)

    @contextmanager
    def told(self) -> Iterator[None]:
        """A context in which lowerings behind the last node fail with `InputError`."""
        try:
            yield
        except _FAILURES as error:
            raise InputError(f"'{self.archive.path}': {self.node.op} at {self.node.place}: {error}") from None

    def enter(self) -> None:
        """Parameters and inputs as values that nobody has read."""
        for name in self.nodes.inputs:
            self.values[name] = self.stored(name, self.data[name], is_parameter=False)
        names = dict[str, str]()
        for name, target in self.nodes.parameters.items():
            if target not in names:
                own = _NOT_IN_NAMES.sub("_", target)
                own = own if own[0].isalpha() else f"weight_{own}"  # of modules that have numbers for names
                others = {*names.values(), *self.nodes.inputs, *self.nodes.output_names}
                names[target] = unused(own, others.__contains__)
            given = self.stored(names[target], self.archive.weights[target], is_parameter=True)
            self.values[name] = replace(given, is_constant=self.archive.is_constant(target))

    def check_format(self, given: Stored) -> None:
        """Raises `Unsupported` where ``given`` has numbers that streams do not have, when somebody reads it."""
        name, what = given.of or given.name, "parameter" if given.is_parameter else "input"
        kept = str(given.data.dtype) if given.is_parameter else self.nodes.metas[name].dtype
        if kept == "bfloat16" or (not given.is_parameter and kept in STREAMS):
            return
        if given.is_parameter:
            targets = (each for value, each in self.nodes.parameters.items() if self.values[value].name == name)
            name = next(targets, name)
        if not given.is_parameter:
            advice = "give it so to"
        elif name.startswith("lifted_tensor"):
            what, advice = "the constant of forward", "write dtype=torch.bfloat16, or a Python number, before"
        elif "float" in kept:
            advice = "call .to(torch.bfloat16) on the module before"
        else:
            advice = "its .to() leaves integers, so store its values (those of weights times their scales) so before"
        raise Unsupported(f"{what} {name!r} is {kept}, not bfloat16: {advice} step_torch.capture")

    def rows(self, given: Stored, axis: TensorAxis, *, ragged: bool) -> int:
        """Rows of the tiles of ``given`` along ``axis``, as near to those of the tiling as can be."""
        extent, most = axis.extent, min(self.tiling.most_rows, axis.extent)
        size, (rows, longer) = fitting(extent, most), self.sources.rows_in_memory(given)
        if longer % size or (extent % size and not (ragged and rows in (0, extent))):
            size = max(each for each in range(1, most + 1) if gcd(extent, longer) % each == 0)
        if size != most or extent % size:
            at = next(number for number, axes in enumerate(given.dims) if axis in axes)
            last = f", the last one {extent % size}" if extent % size else ""
            if at in self.nodes.dynamic.get(given.name, ()):
                last += "; the axis is dynamic, and other extents may have other tiles"
            says = f"axis {at} of {given.name!r} is {extent}, which tiles of {most} rows do not divide"
            self.notes[f"{says}: they have {size}{last}"] = None
        return size

    def stored(self, name: str, data: np.ndarray, *, is_parameter: bool) -> Stored:
        """``data`` as a value that nobody has read."""
        return Stored(name, data, self.axes(name, data.shape), is_parameter)

    def axes(self, name: str, shape: Sequence[int]) -> tuple[tuple[TensorAxis, ...], ...]:
        """A new axis for every dimension of more than one."""
        return tuple((TensorAxis(f"{name}_{at}", extent),) if extent > 1 else () for at, extent in enumerate(shape))

    def lower(self, nodes: Sequence[TorchNode]) -> None:
        """The values of ``nodes``; raises `InputError` that lists all without a lowering.

        What reads a value that is missing for that is listed only if no operator of its kind has a lowering.
        """
        failed, lost = dict[str, None](), set[str]()
        for node in nodes:
            lowering, unknown = lowerings().get(node.op), self.nodes.unknown(node)
            late, is_number = lost.intersection(node.reads), node.op.startswith("_operator.")  # of extents
            chosen = lowering is not None and (lowering.__module__ in MAKERS or self._special(node) is not None)
            if (lowering is None and not is_number) or (unknown and not late and not chosen):
                depends = ": an extent of its result depends on data, and only those of inputs can be dynamic"
                failed[f"{node.op} at {node.place}{depends if unknown and unknown not in lost else ''}"] = None
                lost.update((*node.results, unknown))
            elif late:
                lost.update(node.results)
            elif lowering is not None:
                try:
                    self._lower(node, lowering)
                except _FAILURES as error:
                    failed[f"{node.op} at {node.place}: {error}"] = None
                    lost.update(node.results)
        if failed:
            lines = "".join(f"\n  {each}" for each in failed)
            missing = f"{len(failed)} operator{'s' * (len(failed) > 1)} without a lowering"
            raise InputError(f"'{self.archive.path}' has {missing} (docs/torch.md says how to add one):{lines}")

    def _lower(self, node: TorchNode, lowering: Callable[..., Any]) -> None:
        self.node = node
        if any(0 in self.nodes.metas[name].shape for name in node.results[:1] if name in self.nodes.metas):
            readers = [each.op for each in self.nodes.nodes if node.name in each.reads]
            supported({*readers} == {"aten.cat.default"}, "its result has no scalars")
            self.values[node.name] = None
            return
        args = [self._argument(each) for each in node.args]
        options = {name: self._argument(each) for name, each in node.options.items() if name not in IDLE}
        try:
            bound = inspect.signature(lowering).bind(self, *args, **options).arguments
        except TypeError as error:
            raise Unsupported(f"its lowering does not take these arguments: {error}") from None
        with self.graph.at(node.place.location):
            lifted = self._special(node)
            if is_scalar := {"dim", "dims"} & {*bound} and getattr(args[0], "dims", None) == ():
                args[0] = in_shape(self, args[0], (1,))
            result = lifted.lowered(self, lowering, args, options) if lifted else lowering(self, *args, **options)
            results = result if isinstance(result, tuple) else (result,)
            if is_scalar:
                results = tuple(each and in_shape(self, each, ()) for each in results)
        for number in range(len(results), len(node.results)):
            supported(not self.is_read(number), f"its result {number} is read; that before it has a lowering")
        for name, value in zip(node.results, results, strict=False):
            self.values[name] = self.sources.for_several(value) if self.nodes.readers[name] > 1 else value

    def _special(self, node: TorchNode) -> Any:
        """The first argument that knows itself how a node is lowered, as what a router chose does."""
        values = (self.values.get(each) for each in node.reads)
        able = (each for each in values if hasattr(each, "lowered"))
        return max(able, key=lambda each: hasattr(each, "leads"), default=None)

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
        supported(self.meta.dtype in STREAMS, f"its result is {self.meta.dtype}, and streams have {', '.join(STREAMS)}")
        return STREAMS[self.meta.dtype]

    def is_read(self, number: int) -> bool:
        """Whether anything reads that result of the node."""
        name = self.node.results[number]
        return name in self.nodes.outputs or name in self.nodes.readers

    def name(self, hint: str = "") -> str:
        """A name for an operator of this node that no other has."""
        return self.free(_NOT_IN_NAMES.sub("_", f"{self.node.name}_{hint}" if hint else self.node.name))

    def axis(self, hint: str, extent: int) -> TensorAxis:
        """A new axis of this node, which no other one is equal to."""
        name = unused(self.name(hint), self._axes.__contains__)
        self._axes.add(name)
        return TensorAxis(name, extent)

    def free(self, stem: str) -> str:
        """``stem``, or with a number behind it where another operator or tensor is called so."""
        own = {*self.nodes.inputs, *self.nodes.output_names}
        taken = own, self.graph.nodes, self.graph.tensors, self.graph.feedbacks
        return unused(stem, lambda name: f"{name}_chunks" in self.graph.nodes or any(name in each for each in taken))

    def value(self, given: Any) -> Value:
        """``given`` as a stream, in the layout that comes by itself, with what there is of it alone."""
        if isinstance(given, Stored):
            return self.sources.natural(given, ragged=False)
        return exact(self, self.tiles(given))

    def tiles(self, given: Any) -> Value:
        """The same, whose last tile may have more than there is: for functions of rows by themselves."""
        if isinstance(given, Stored):
            return self.sources.natural(given, ragged=True)
        return given if isinstance(given, Value) else given.value(self)

    def in_layout(self, given: Any, wanted: TileLayout, why: str) -> Value:
        """``given`` in the layout ``wanted``."""
        if isinstance(given, Stored) and self.sources.lies_in(given, wanted):
            return self.sources.read(given.facing(wanted), wanted)
        value = self.tiles(given)
        if any(value.layout.reach(axis) != wanted.reach(axis) for axis in value.ragged):
            value = exact(self, value)
        return self.joiner.to(value, wanted, why)

    def whole_rows(self, given: Any, why: str, *, ragged: bool = False) -> Value:
        """``given`` in tiles that have all of the last axis; the last one of ``ragged`` rows may have more of them."""
        value = self.tiles(given) if ragged else self.value(given)
        return self.joiner.whole(value, value.dims[-1] if value.dims else (), why)

    def constant(self, data: np.ndarray, name: str = "", kept: str = "") -> Stored:
        """``data`` in the format ``kept``, or that of the node's result; it is stored if somebody reads it."""
        name, kept = f"{self.node.name}_{name}" if name else self.node.name, kept or self.meta.dtype
        data = np.asarray(data).astype(getattr(ml_dtypes, kept, kept), order="C")
        return Stored(name, data, self.axes(name, data.shape), is_parameter=True, is_constant=True)

    def rounded(self, stream: Stream) -> Stream:
        """``stream`` in the format that the node has in torch, if it is wider."""
        if self.dtype is BF16 and stream.element.tiles[0].dtype is not BF16:
            return stream.map(Cast(BF16), name=self.name("rounded"))
        return stream

    def store(self, output: str, name: str) -> None:
        """The value ``output`` as an output of the program, row by row."""
        value = self.whole_rows(self.values[output], "an output is stored row by row", ragged=True)
        why, axes = "an output is stored in the order of torch", [axis for each in value.dims[:-1] for axis in each]
        rows = value.layout.rows
        if rows is not None and rows.count > 1 and [rows.axis] != axes[-1:]:
            value = self.joiner.rows(value, 1, why)
        value = exact(self, self.joiner.in_order(value, why))
        rows, stream = value.layout.rows, value.stream
        if rows is not None and rows.count > 1:
            stream = stream.flat_map(RetileStreamify(1, "row"), name=self.name(f"{name}_rows"))
        stream.store(name)


MAKERS = ("step_torch.lowerings.hits",)
"""Modules of lowerings whose results may have an extent that data decides."""

_FAILURES = (Unsupported, NoJoin, TypeMismatch, GraphError)
"""What a lowering raises for what it can not do, or the graph for operators that do not fit each other."""

IDLE = ("dtype", "layout", "device", "pin_memory", "non_blocking", "memory_format", "implicit", "sparse_grad")
"""Options that no lowering asks for: streams have no strides nor devices, and `Importer.dtype` is the format."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def with_dtype(value: Value, stream: Stream, dtype: DType) -> Value:
    """``value`` with another stream of the same layout."""
    return replace(value, stream=stream, dtype=dtype)
