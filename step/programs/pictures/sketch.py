"""Pictures before they are laid out: boxes and arrows, of all operators or with those folded that are alike."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from step.errors import GraphError
from step.language.graph import Graph, Node
from step.language.stream import Stream
from step.lowering.fabric import FabricConfig
from step.programs.folding import common, members, starred
from step.programs.pictures.outline import PLAIN, WIDEST, colour, label


@dataclass(frozen=True)
class Box:
    """An operator, or several that are alike: its ``lines``, its colour, and a ``title`` for who points at it."""

    lines: list[str]
    colour: str
    title: str


@dataclass(frozen=True)
class Arrow:
    """A stream from box to box, with the names of its ports, and the ``lines`` beside it."""

    producer: str
    consumer: str
    output: str
    input: str
    lines: list[str]
    title: str


@dataclass(frozen=True)
class Sketch:
    """A picture before it is laid out: ``boxes`` by name, and the arrows between them."""

    name: str
    boxes: dict[str, Box]
    arrows: list[Arrow]


_DEFAULT = FabricConfig()


LAST = 6
"""The most operators before a stream that its picture shows."""


def sketch(
    graph: Graph,
    fabric: FabricConfig = _DEFAULT,
    fills: Mapping[str, str] = MappingProxyType({}),
    nodes: Iterable[Node] | None = None,
) -> Sketch:
    """The picture of ``graph``: a box for each operator, and for each edge its ports, its type, and a depth that is
    not that of the fabric.

    ``fills``: colours of operators by name, instead of those of their kinds. ``nodes``: only these operators; writers
    of their inputs stand there by name, as do feedback edges that nobody closed yet.
    """
    shown = [*(graph if nodes is None else nodes)]
    boxes = {node.name: Box(label(node), fills.get(node.name, colour(node)), str(node.location)) for node in shown}
    arrows = [arrow for node in shown for arrow in _arrows(graph, node, fabric)]
    for each in arrows:
        boxes.setdefault(each.producer, Box([each.producer], PLAIN, each.producer))
    return Sketch(graph.name, boxes, arrows)


def sketch_before(stream: Stream) -> Sketch:
    """The picture of ``stream``: the last operators that lead to it, and a box with its type."""
    graph: Graph = stream.graph
    source = _source(graph, stream)
    names = [source.producer]
    for name in names:  # it grows, nearest first
        inputs = graph.nodes[name].inputs if name in graph.nodes else ()
        found = dict.fromkeys(_source(graph, each).producer for each in inputs)
        names += [each for each in found if each not in names][: LAST - len(names)]
    before = sketch(graph, nodes=[graph.nodes[name] for name in names if name in graph.nodes])
    known = {source.producer: Box([source.producer], PLAIN, source.producer), **before.boxes}
    boxes = known | {"": Box(textwrap.wrap(str(stream.type), WIDEST), PLAIN, f"{stream}: {stream.type}")}
    depth = [f"depth {stream.depth}"] if stream.depth else []
    return Sketch(str(stream), boxes, [*before.arrows, _arrow(graph, stream, "", "", depth)])


def _arrows(graph: Graph, node: Node, fabric: FabricConfig) -> Iterator[Arrow]:
    """Edges that lead to ``node``; ports have names where there are several."""
    for name, stream in zip(node.input_ports, node.inputs, strict=True):
        depth = stream.depth or fabric.channel_depth
        lines = [str(_source(graph, stream).type), *([f"depth {depth}"] if depth != fabric.channel_depth else [])]
        yield _arrow(graph, stream, node.name, name if len(node.inputs) > 1 else "", lines, f", depth {depth}")


def _arrow(graph: Graph, stream: Stream, consumer: str, port: str, lines: list[str], more: str = "") -> Arrow:
    """The edge of ``stream`` to the ``port`` of the ``consumer``, with ``lines`` beside it."""
    source = _source(graph, stream)
    outputs = graph.nodes[source.producer].output_ports if source.producer in graph.nodes else ()
    output = outputs[source.port] if len(outputs) > 1 else ""
    return Arrow(source.producer, consumer, output, port, lines, f"{stream}: {source.type}{more}")


def _source(graph: Graph, stream: Stream) -> Stream:
    """`Graph.resolve`; ``stream`` itself where it comes from a feedback edge that is not closed yet."""
    try:
        return graph.resolve(stream)
    except GraphError:
        return stream


def fold(sketch: Sketch, parts: Mapping[str, str], fills: Mapping[str, str]) -> Sketch:
    """``sketch`` with one box for all boxes of the same of the ``parts``, and one arrow for those between two of them.

    ``fills``: colours of parts.
    """
    boxes, alone = {}, {part for part, names in members(parts).items() if len(names) == 1}
    for part, names in members(parts).items():
        of = [sketch.boxes[name] for name in names]
        if len(of) == 1:
            boxes[part] = replace(of[0], colour=fills.get(part, of[0].colour))
            continue
        lines = [common(texts) for texts in zip(*(each.lines[1:] for each in of), strict=False)]
        title = f"{of[0].title} and {len(of) - 1} more"
        boxes[part] = Box([f"{part} \N{MULTIPLICATION SIGN} {len(of)}", *lines], fills.get(part, of[0].colour), title)
    alike: dict[tuple[str, ...], list[Arrow]] = defaultdict(list)
    for arrow in sketch.arrows:
        producer, consumer = parts[arrow.producer], parts[arrow.consumer]
        ports = (arrow.output, arrow.input)
        if not {producer, consumer} <= alone:
            ports = (starred(arrow.output), starred(arrow.input))
        alike[(producer, consumer, *ports)].append(arrow)
    arrows = []
    for (producer, consumer, output, input), of_arrow in alike.items():
        lines = [common(texts) for texts in zip(*(each.lines for each in of_arrow), strict=False)]
        times = [f"\N{MULTIPLICATION SIGN} {len(of_arrow)}"] if len(of_arrow) > 1 else []
        title = of_arrow[0].title if not times else f"{len(of_arrow)} streams"
        arrows.append(Arrow(producer, consumer, output, input, [*lines, *times], title))
    return Sketch(sketch.name, boxes, arrows)
