"""Graphs as JSON and back.

The text is never evaluated: a parameter is a number, a name, a list or a tagged object, and shapes are inferred anew
from the operators. What the file says about shapes is compared with that.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from step.dims import Dim, dim, format_shape
from step.dtypes import DType, dtype_named
from step.errors import FormatError, GraphError, TypeMismatch
from step.function import Function, function_named
from step.graph import Feedback, Graph, Tensor
from step.location import UNKNOWN_LOCATION, Location
from step.operator import operator_named
from step.stream import Stream
from step.types import Buffer, Selector, Tile, Tuple


def encode(value: Any) -> Any:
    """A parameter as plain data."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return [encode(each) for each in value]
        case Dim():
            return int(value) if value.is_static else {"symbol": str(value.extent)}
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


def _parameters(owner: Any) -> dict[str, Any]:
    return {each.name: encode(getattr(owner, each.name)) for each in fields(owner)}


def decode(value: Any, graph: Graph) -> Any:
    """The opposite of `encode`; raises `FormatError` for what it does not know."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return tuple(decode(each, graph) for each in value)
        case {"symbol": str(name)}:
            if name not in graph.symbols:
                raise FormatError(f"symbol {name!r} is used before it is declared")
            return graph.symbols[name].dim
        case {"dtype": str(name)}:
            return dtype_named(name)
        case {"tile": [str(dtype), rows, cols]}:
            return Tile(dtype_named(dtype), decode(rows, graph), decode(cols, graph))
        case {"selector": int(targets)}:
            return Selector(targets)
        case {"tuple": list(items)}:
            return Tuple(decode(items, graph))
        case {"buffer": tile, "shape": list(dims)}:
            return Buffer(decode(tile, graph), _dims(dims, graph))
        case {"tensor": str(name)}:
            if name not in graph.tensors:
                raise FormatError(f"tensor {name!r} is not declared")
            return graph.tensors[name]
        case {"function": str(name), "parameters": dict(parameters)}:
            return _construct(function_named(name), parameters, graph)
    raise FormatError(f"a parameter can not be {value!r}")


def _dims(values: list[Any], graph: Graph) -> tuple[Dim, ...]:
    return tuple(dim(decode(each, graph)) for each in values)


def _construct(owner: type[Any], parameters: dict[str, Any], graph: Graph) -> Any:
    known = {each.name for each in fields(owner)}
    for name in parameters:
        if name not in known:
            raise FormatError(f"{owner.name} has no parameter {name!r}; it has {', '.join(sorted(known)) or 'none'}")
    values = {name: decode(each, graph) for name, each in parameters.items()}
    if "shape" in values:
        values["shape"] = _dims(parameters["shape"], graph)
    try:
        return owner(**values)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{owner.name}: {error}") from None


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """``graph`` as plain data, operators in the order in which they were placed."""
    return {
        "name": graph.name,
        "symbols": [
            {"name": name, "ragged": info.dim.is_ragged}
            for name, info in graph.symbols.items()
            if info.of == graph.name
        ],
        "tensors": [
            {"name": each.name, "shape": list(each.shape), "dtype": each.dtype.name} for each in graph.tensors.values()
        ],
        "feedbacks": [_feedback_to_json(each) for each in graph.feedbacks.values()],
        "nodes": [
            {
                "name": node.name,
                "op": node.operator.name,
                "parameters": _parameters(node.operator),
                "inputs": [_input_to_json(stream) for stream in node.inputs],
                "outputs": [
                    {"shape": format_shape(each.shape), "element": str(each.element)} for each in node.output_types
                ],
                "source": str(node.location),
            }
            for node in graph
        ],
        "refinements": [{"stream": name, "shape": encode(dims)} for name, dims in graph.refinements.items()],
    }


def _input_to_json(stream: Stream) -> dict[str, Any]:
    return {"stream": str(stream), **({} if stream.depth is None else {"depth": stream.depth})}


def _feedback_to_json(edge: Feedback) -> dict[str, Any]:
    return {
        "name": edge.name,
        "element": encode(edge.type.element),
        "shape": encode(edge.type.shape),
        "source": None if edge.source is None else str(edge.source),
    }


def graph_from_json(data: dict[str, Any]) -> Graph:
    """Build the graph that ``data`` describes (valid against the program schema).

    Raises `GraphError` for streams that nobody writes and cycles without a declared feedback edge, `FormatError` for
    what the schema can not say, and `TypeMismatch` where types do not fit.
    """
    graph = Graph(data["name"])
    for each in data["symbols"]:
        graph.symbol(each["name"], ragged=each["ragged"])
    for each in data["tensors"]:
        graph.tensor(each["name"], each["shape"], dtype_named(each["dtype"]))
    streams: dict[str, Stream] = {}
    for each in data["feedbacks"]:
        edge = graph.feedback(decode(each["element"], graph), _dims(each["shape"], graph), name=each["name"])
        streams[each["name"]] = edge.stream
    refinements = {each["stream"]: each["shape"] for each in data["refinements"]}
    _check_order(data, set(streams))
    for each in data["nodes"]:
        inputs = []
        for entry in each["inputs"]:
            stream = streams[entry["stream"]]
            inputs.append(stream.buffered(entry["depth"]) if "depth" in entry else stream)
        operator = _construct(operator_named(each["op"]), each["parameters"], graph)
        outputs = graph.add(operator, inputs, name=each["name"], location=_location(each["source"]))
        for port, output in enumerate(outputs):
            name = str(output)
            streams[name] = graph.refine(output, _dims(refinements[name], graph)) if name in refinements else output
            _check_shape(each, port, streams[name])
    for each in data["feedbacks"]:
        if each["source"] is not None:
            if each["source"] not in streams:
                raise GraphError(f"feedback {each['name']!r} comes from {each['source']!r}, which nobody writes")
            graph.feedbacks[each["name"]].close(streams[each["source"]])
    return graph


def _check_order(data: dict[str, Any], known: set[str]) -> None:
    """Every stream must be written before it is read; else it is a cycle, or nobody writes it."""
    written = set(known)
    later = {each["name"] for each in data["nodes"]}
    for each in data["nodes"]:
        for entry in each["inputs"]:
            name = entry["stream"]
            if name in written:
                continue
            producer = name.partition(".")[0]
            if producer in later:
                raise GraphError(
                    f"{each['op']} {each['name']!r} ({each['source']}) reads {name!r}, which is written only after it: "
                    "these operators form a cycle without a declared feedback edge"
                )
            raise GraphError(f"{each['op']} {each['name']!r} ({each['source']}) reads {name!r}, which nobody writes")
        operator = operator_named(each["op"])
        count = len(each["outputs"])
        written |= {each["name"]} if count == 1 else set()
        written |= {f"{each['name']}.{port}" for port in range(count)} | {
            f"{each['name']}.{suffix}" if suffix else each["name"] for suffix in operator.output_names
        }
        later.discard(each["name"])


def _check_shape(entry: dict[str, Any], port: int, stream: Stream) -> None:
    stated = entry["outputs"][port] if port < len(entry["outputs"]) else None
    found = {"shape": format_shape(stream.shape), "element": str(stream.element)}
    if stated != found:
        raise TypeMismatch(
            f"{entry['op']} {entry['name']!r} ({entry['source']}): the file says that output {port} is {stated}, "
            f"but it is {found}"
        )


def _location(text: str) -> Location:
    file, colon, line = text.rpartition(":")
    return Location(file, int(line)) if colon and line.isdigit() else UNKNOWN_LOCATION
