"""Graphs as JSON and back.

The text is never evaluated: a parameter is a number, a name, a list or a tagged object, and shapes are inferred anew
from the operators. What the file says about shapes is compared with that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import Any

import numpy as np

from step.errors import FormatError, GraphError, ProgramError, TypeMismatch, expect
from step.language.dims import Dim, DimKind, Shape, dim, format_shape, mean
from step.language.dtypes import DType, as_dtype
from step.language.function import Function, function_named
from step.language.graph import Graph, Tensor
from step.language.location import Location
from step.language.operator import StreamType, operator_named
from step.language.parameters import fits, parameter_types
from step.language.stream import Stream
from step.language.types import Buffer, ElementType, Selector, Tile, Tuple
from step.programs.files.expression import decode_extent, encode_extent


def encode(value: Any) -> Any:
    """A parameter as plain data; raises `ProgramError` for a dimension that only the program's file can make."""
    match value:
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return encode(value.item())
        case tuple():
            return [encode(each) for each in value]
        case range():
            return {"range": [value.start, value.stop, value.step]}
        case Dim():
            return _encode_dim(value)
        case DType():
            return {"dtype": value.name}
        case Tile():
            return {"tile": [value.dtype.name, encode(value.rows), encode(value.cols)]}
        case Selector():
            return {"selector": value.targets}
        case Tuple():
            return {"tuple": encode(value.items)}
        case Buffer():
            return {"buffer": encode(value.tile), "shape": encode(value.shape)}
        case Tensor():
            return {"tensor": value.name}
        case Function():
            return {"function": value.name, "parameters": _parameters(value)}
    raise TypeError(f"{value!r} can not be saved")


def _encode_dim(value: Dim) -> Any:
    """A number (static), a symbol (of the kind that it was declared with), what a regular one is derived from, or of
    which a ragged one is the mean."""
    if value.is_static:
        return int(value)
    if value.extent.is_Symbol:
        return encode_extent(value.extent)
    if not value.is_ragged:
        return {"dynamic": encode_extent(value.extent)}
    total, tensors = value.extent.as_numer_denom()
    says = f"the dimension {value} can not be saved: a ragged one must be a symbol, or a mean of several tensors"
    expect(value == mean(total, tensors) and tensors != 1, says, ProgramError)
    return {"mean": [encode_extent(total), encode_extent(tensors)]}


def _parameters(owner: Any) -> dict[str, Any]:
    return {each.name: encode(getattr(owner, each.name)) for each in fields(owner)}


def decode(value: Any, graph: Graph) -> Any:
    """The opposite of `encode`; raises `FormatError` for what it does not know."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"float": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case list():
            return tuple(decode(each, graph) for each in value)
        case {"range": [int(start), int(stop), int(step)]} if step:
            return range(start, stop, step)
        case {"symbol": str(name)}:
            expect(name in graph.symbols, f"symbol {name!r} is used before it is declared", FormatError)
            return graph.symbols[name].dim
        case {"dynamic": tree}:
            return Dim(decode_extent(tree, graph.symbols), DimKind.DYNAMIC)
        case {"mean": [total, tensors]}:
            return mean(*(decode_extent(each, graph.symbols) for each in (total, tensors)))
        case {"dtype": str(name)}:
            return as_dtype(name)
        case {"tile": [str(dtype), rows, cols]}:
            return Tile(as_dtype(dtype), *_dims([rows, cols], graph))
        case {"selector": int(targets)}:
            return Selector(targets)
        case {"tuple": list(items)}:
            return Tuple(decode(items, graph))
        case {"buffer": tile, "shape": list(dims)}:
            return Buffer(decode(tile, graph), _dims(dims, graph))
        case {"tensor": str(name)}:
            expect(name in graph.tensors, f"tensor {name!r} is not declared", FormatError)
            return graph.tensors[name]
        case {"function": str(name), "parameters": dict(parameters)}:
            return _construct(function_named(name), parameters, graph)
    raise FormatError(f"a parameter can not be {value!r}")


def _dims(values: list[Any], graph: Graph) -> tuple[Dim, ...]:
    try:
        return tuple(dim(decode(each, graph)) for each in values)
    except TypeMismatch as error:
        raise FormatError(str(error)) from None


def _construct(owner: Any, parameters: dict[str, Any], graph: Graph) -> Any:
    known = {each.name for each in fields(owner)}
    for name in parameters:
        if name not in known:
            raise FormatError(f"{owner.name} has no parameter {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    values = {name: decode(each, graph) for name, each in parameters.items()}
    hints = parameter_types(owner)
    for name, each in values.items():
        if hints[name] == Shape and isinstance(each, tuple):
            values[name] = _dims(parameters[name], graph)
        if not fits(values[name], hints[name]):
            raise FormatError(f"{owner.name}: parameter {name!r} can not be {parameters[name]!r}")
    try:
        return owner(**values)
    except TypeMismatch as error:
        raise FormatError(f"{owner.name}: {error}") from None


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """``graph`` as plain data, operators in the order in which they were placed."""
    return {
        "name": graph.name,
        "symbols": [
            {"name": name, "ragged": info.dim.is_ragged, "source": str(info.born)}
            for name, info in graph.symbols.items()
            if info.declared
        ],
        "tensors": [
            {"name": each.name, "shape": list(each.shape), "dtype": each.dtype.name} for each in graph.tensors.values()
        ],
        "feedbacks": [
            {
                "name": edge.name,
                "element": encode(edge.type.element),
                "shape": encode(edge.type.shape),
                "stream": None if edge.source is None else str(edge.source),
                "source": str(edge.location),
            }
            for edge in graph.feedbacks.values()
        ],
        "nodes": [
            {
                "name": node.name,
                "op": node.operator.name,
                "parameters": _parameters(node.operator),
                "inputs": [
                    {"stream": str(each)}
                    | ({"depth": each.depth} if each.depth else {})
                    | ({} if each.hops is None else {"hops": each.hops})
                    for each in node.inputs
                ],
                "outputs": _types_to_json(node.output_types),
                "source": str(node.location),
            }
            for node in graph
        ],
        "refinements": [{"stream": name, "shape": encode(dims)} for name, dims in graph.refinements.items()],
        **({"depths": dict(graph.depths)} if graph.depths else {}),
        **({"most_rows": dict(graph.most_rows)} if graph.most_rows else {}),
    }


def graph_from_json(data: dict[str, Any]) -> Graph:
    """Build the graph that ``data`` describes (valid against the program schema).

    Raises `GraphError` for streams that nobody writes and cycles without a declared feedback edge, `FormatError` for
    what the schema can not say, and `TypeMismatch` where types do not fit.
    """
    return _Reading(data).graph_of_all()


class _Reading:
    """A graph as far as it is read: its ``streams`` by name, all feedback ``edges``, and the ``refinements`` (assumed
    shapes) that are still to come, as their shapes may have symbols of operators."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data, self.graph = data, Graph(data["name"])
        self.streams: dict[str, Stream] = {}
        self.edges = {each["name"]: each for each in data["feedbacks"]}
        self.refinements = {each["stream"]: each["shape"] for each in data["refinements"]}

    def graph_of_all(self) -> Graph:
        graph, data = self.graph, self.data
        for each in data["symbols"]:
            graph.symbol(each["name"], ragged=each["ragged"], location=Location.read(each["source"]))
        for each in data["tensors"]:
            graph.tensor(each["name"], each["shape"], as_dtype(each["dtype"]))
        self.later = {each["name"] for each in data["nodes"]}
        for each in data["nodes"]:
            self.place(each)
        for each in data["feedbacks"]:
            if each["name"] not in graph.feedbacks or each is not self.edges[each["name"]]:
                self.streams[each["name"]] = _feedback(each, graph)
        graph.feedbacks = {name: graph.feedbacks[name] for name in self.edges}
        for name in list(self.refinements):
            expect(name in self.streams, f"the shape of {name!r} is assumed, but nobody writes that stream", GraphError)
            self.written(name)
        graph.refinements = {each["stream"]: graph.refinements[each["stream"]] for each in data["refinements"]}
        graph.depths, graph.most_rows = dict(data.get("depths", {})), dict(data.get("most_rows", {}))
        for each in data["nodes"]:
            _check_types(each, graph.nodes[each["name"]].output_types)
        for each in data["feedbacks"]:
            if each["stream"] is not None:
                if each["stream"] not in self.streams:
                    raise GraphError(f"feedback {each['name']!r} comes from {each['stream']!r}, which nobody writes")
                graph.feedbacks[each["name"]].close(self.streams[each["stream"]])
        return graph

    def place(self, node: dict[str, Any]) -> None:
        """Place the operator ``node`` behind its inputs."""
        inputs = []
        for entry in node["inputs"]:
            name = entry["stream"]
            if name in self.edges and name not in self.graph.feedbacks:  # now all symbols of its shape have to be there
                self.streams[name] = _feedback(self.edges[name], self.graph)
            if name not in self.streams:
                reads = f"{node['op']} {node['name']!r} ({node['source']}) reads {name!r}"
                if name.partition(".")[0] in self.later:
                    raise GraphError(
                        f"{reads}, which is written only after it: these operators form a cycle without a declared "
                        "feedback edge"
                    )
                raise GraphError(f"{reads}, which nobody writes")
            stream = self.written(name)
            stream = stream.buffered(entry["depth"]) if "depth" in entry else stream
            inputs.append(stream.distant(entry["hops"]) if "hops" in entry else stream)
        operator = _construct(operator_named(node["op"]), node["parameters"], self.graph)
        outputs = self.graph.add(operator, inputs, name=node["name"], location=Location.read(node["source"]))
        self.streams |= {str(output): output for output in outputs}
        self.later.discard(node["name"])

    def written(self, name: str) -> Stream:
        """The stream as its readers see it: its assumed shape may have symbols that are younger than itself."""
        if name in self.refinements:
            shape = _dims(self.refinements.pop(name), self.graph)
            self.streams[name] = self.graph.refine(self.streams[name], shape)
        return self.streams[name]


def _feedback(entry: dict[str, Any], graph: Graph) -> Stream:
    element = decode(entry["element"], graph)
    if not isinstance(element, ElementType):
        raise FormatError(f"feedback {entry['name']!r}: an element type can not be {entry['element']!r}")
    shape = _dims(entry["shape"], graph)
    return graph.feedback(element, shape, name=entry["name"], location=Location.read(entry["source"])).stream


def _types_to_json(types: Sequence[StreamType]) -> list[dict[str, str]]:
    return [{"shape": format_shape(each.shape), "element": str(each.element)} for each in types]


def _check_types(entry: dict[str, Any], types: Sequence[StreamType]) -> None:
    for port, (found, stated) in enumerate(zip_longest(_types_to_json(types), entry["outputs"][: len(types)])):
        if stated != found:
            raise TypeMismatch(
                f"{entry['op']} {entry['name']!r} ({entry['source']}): the file says that output {port} is {stated}, "
                f"but it is {found}"
            )
