"""Pictures of a program: Graphviz text, and SVG."""

from __future__ import annotations

import html
import importlib
import shutil
import subprocess
from typing import Any

from step.errors import EnvironmentProblem
from step.language.graph import Graph, Node
from step.language.operator import Kind

_COLOURS = {
    Kind.OFF_CHIP: "#cfe3f7",
    Kind.ON_CHIP: "#e6daf2",
    Kind.BOUNDARY: "#e4e4e4",
    Kind.ROUTING: "#fbe0c3",
    Kind.HIGHER_ORDER: "#d7efd2",
    Kind.SHAPE: "#ffffff",
}


def _label(node: Node) -> list[str]:
    """Lines of a node's box: name, operator with its function, tensor."""
    operator = node.operator
    detail = getattr(getattr(operator, "function", None), "name", None) or getattr(
        getattr(operator, "tensor", None), "name", None
    )
    return [node.name, f"{operator.name}({detail})" if detail else operator.name]


def _edges(graph: Graph) -> list[tuple[str, str, str]]:
    """Producer, consumer and type of every edge."""
    return [
        (graph.resolve(stream).producer, node.name, str(graph.resolve(stream).type))
        for node in graph
        for stream in node.inputs
    ]


def dot(graph: Graph) -> str:
    """The graph in Graphviz' language: boxes are operators, edges carry shape and element type."""
    lines = [f'digraph "{graph.name}" {{', "  rankdir=TB; node [shape=box, style=filled, fontname=Helvetica];"]
    for node in graph:
        colour = _COLOURS[node.operator.kind]
        label = "\\n".join(_label(node))
        lines.append(f'  {node.name} [label="{label}", fillcolor="{colour}", tooltip="{node.location}"];')
    lines += [f'  {source} -> {target} [label="{text}", fontsize=9];' for source, target, text in _edges(graph)]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Graph) -> str:
    """The graph as SVG: drawn by Graphviz where ``dot`` is installed, else laid out by grandalf.

    Raises `EnvironmentProblem` where neither is there.
    """
    program = shutil.which("dot")
    if program is not None:
        return subprocess.run([program, "-Tsvg"], input=dot(graph), capture_output=True, text=True, check=True).stdout
    try:
        graphs, layouts = importlib.import_module("grandalf.graphs"), importlib.import_module("grandalf.layouts")
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "an SVG needs Graphviz' dot, or the module grandalf; install it with: pip install 'step-fabric[show]'"
        ) from None
    return _layered_svg(graph, graphs, layouts)


def picture(graph: Graph) -> str | None:
    """The SVG for a notebook; None where nothing that draws is installed, and the notebook shows a line of text."""
    try:
        return svg(graph)
    except EnvironmentProblem:
        return None


class _Box:
    """Size and place of a node, as grandalf wants it."""

    def __init__(self, width: float, height: float) -> None:
        self.w, self.h = width, height
        self.xy = (0.0, 0.0)


def _layered_svg(graph: Graph, graphs: Any, layouts: Any) -> str:
    vertices = {node.name: graphs.Vertex(node) for node in graph}
    for node in graph:
        vertices[node.name].view = _Box(14 + 7.0 * max(len(line) for line in _label(node)), 36)
    edges = [(source, target, text) for source, target, text in _edges(graph)]
    laid = graphs.Graph(list(vertices.values()), [graphs.Edge(vertices[s], vertices[t]) for s, t, _ in edges])
    shift = 0.0
    for component in laid.C:
        layout = layouts.SugiyamaLayout(component)
        layout.init_all()
        layout.draw()
        boxes = [vertex.view for vertex in component.sV]
        left = min(box.xy[0] - box.w / 2 for box in boxes)
        top = min(box.xy[1] - box.h / 2 for box in boxes)
        for box in boxes:
            box.xy = (box.xy[0] - left + shift + 20, box.xy[1] - top + 20)
        shift = max(box.xy[0] + box.w / 2 for box in boxes)
    places = {name: vertex.view for name, vertex in vertices.items()}
    width = max((box.xy[0] + box.w / 2 for box in places.values()), default=0) + 20
    height = max((box.xy[1] + box.h / 2 for box in places.values()), default=0) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="Helvetica, sans-serif" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for source, target, text in edges:
        start, end = places[source], places[target]
        x1, y1, x2, y2 = start.xy[0], start.xy[1] + start.h / 2, end.xy[0], end.xy[1] - end.h / 2
        middle = (y1 + y2) / 2
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}" fill="none" '
            f'stroke="#777" marker-end="url(#tip)"><title>{html.escape(text)}</title></path>'
        )
    for node in graph:
        box = places[node.name]
        x, y = box.xy[0] - box.w / 2, box.xy[1] - box.h / 2
        colour = _COLOURS[node.operator.kind]
        first, second = (html.escape(line) for line in _label(node))
        parts.append(
            f'<g><title>{html.escape(str(node.location))}</title><rect x="{x:.1f}" y="{y:.1f}" width="{box.w:.1f}" '
            f'height="{box.h}" rx="4" fill="{colour}" stroke="#555"/><text x="{box.xy[0]:.1f}" y="{box.xy[1] - 3:.1f}" '
            f'text-anchor="middle" font-weight="bold">{first}</text><text x="{box.xy[0]:.1f}" y="{box.xy[1] + 11:.1f}" '
            f'text-anchor="middle">{second}</text></g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def text(graph: Graph) -> str:
    """One line per operator: name, operator, inputs, and the type of each output."""
    lines = []
    for node in graph:
        inputs = ", ".join(str(stream) for stream in node.inputs)
        lines.append(f"{node.name} = {_label(node)[1]}({inputs})")
        for port, each in enumerate(node.output_types):
            lines.append(f"    {graph.stream_name(node.name, port)}: {each}")
    return "\n".join(lines) + "\n"
