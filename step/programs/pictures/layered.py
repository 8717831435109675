"""SVG of a program without Graphviz: grandalf lays out the boxes, layer by layer."""

from __future__ import annotations

import html
from functools import partial
from types import SimpleNamespace

from grandalf.graphs import Edge, Graph, Vertex
from grandalf.layouts import SugiyamaLayout

from step.programs.pictures.sketch import Box, Sketch

MARGIN = 20
LINE = 14
"""Height of a line of text."""


Place = tuple[float, float]


class PlacedBox:
    """Size and place of a node, as grandalf wants it; ``xy`` is the middle."""

    def __init__(self, lines: list[str]) -> None:
        self.w, self.h = 14 + 7.0 * max(map(len, lines)), 8.0 + LINE * len(lines)
        self.xy = (0.0, 0.0)


def layered_svg(sketch: Sketch) -> str:
    """The picture of ``sketch``."""
    boxes, _ = placed(sketch)
    width = max((box.xy[0] + box.w / 2 for box in boxes.values()), default=0) + MARGIN
    height = max((box.xy[1] + box.h / 2 for box in boxes.values()), default=0) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        'font-family="Helvetica, sans-serif" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for arrow in sketch.arrows:
        start, end = boxes[arrow.producer], boxes[arrow.consumer]
        x1, y1, x2, y2 = start.xy[0], start.xy[1] + start.h / 2, end.xy[0], end.xy[1] - end.h / 2
        middle = (y1 + y2) / 2
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}" fill="none" '
            f'stroke="#777" marker-end="url(#tip)"><title>{html.escape(arrow.title)}</title></path>'
        )
        # Points of the curve that are far enough from its ends that those of other edges are elsewhere.
        parts += _small(x1 + 0.2 * (x2 - x1), y1 + 0.33 * (y2 - y1), arrow.output)
        for number, line in enumerate(arrow.lines):
            parts += _small((x1 + x2) / 2, middle + 9 * number, line)
        parts += _small(x1 + 0.8 * (x2 - x1), y1 + 0.67 * (y2 - y1), arrow.input)
    for name, box in sketch.boxes.items():
        parts += _drawn(name, box, boxes[name])
    return "\n".join([*parts, "</svg>"]) + "\n"


def placed(sketch: Sketch, between: int = 4 * LINE) -> tuple[dict[str, PlacedBox], dict[tuple[str, str], list[Place]]]:
    """Every operator's box in its place, and by producer and consumer the points of the edge from the middle of one to
    that of the other, past what is between them; what is not connected stands side by side.

    ``between``: from layer to layer, by default room for three small lines.
    """
    vertices = {name: Vertex(name) for name in sketch.boxes}
    for name, each in sketch.boxes.items():
        vertices[name].view = PlacedBox(each.lines)
    pairs = dict.fromkeys((each.producer, each.consumer) for each in sketch.arrows)
    edges = {pair: Edge(*map(vertices.__getitem__, pair)) for pair in pairs}
    routes: dict[tuple[str, str], list[Place]] = {}
    for pair, edge in edges.items():
        edge.view = SimpleNamespace(setpath=partial(routes.__setitem__, pair))
    shift = 0.0
    for component in Graph(list(vertices.values()), list(edges.values())).C:
        layout = SugiyamaLayout(component)
        layout.yspace = between
        layout.init_all()
        before = set(routes)
        layout.draw()
        boxes, ways = [vertex.view for vertex in component.sV], routes.keys() - before
        left = min([box.xy[0] - box.w / 2 for box in boxes] + [x for way in ways for x, _ in routes[way]])
        top = min(box.xy[1] - box.h / 2 for box in boxes)
        dx, dy = shift + MARGIN - left, MARGIN - top
        for box in boxes:
            box.xy = (box.xy[0] + dx, box.xy[1] + dy)
        routes |= {way: [(x + dx, y + dy) for x, y in routes[way]] for way in ways}
        shift = max([box.xy[0] + box.w / 2 for box in boxes] + [x for way in ways for x, _ in routes[way]])
    return {name: vertex.view for name, vertex in vertices.items()}, routes


def _small(x: float, y: float, text: str) -> list[str]:
    """A line with a white edge around it, as other edges may pass there."""
    style = 'font-size="8" fill="#444" paint-order="stroke" stroke="#fff" stroke-width="2"'
    return [f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(text)}</text>'] if text else []


def _drawn(name: str, of: Box, box: PlacedBox) -> list[str]:
    x, y = box.xy[0] - box.w / 2, box.xy[1] - box.h / 2
    bold = ' font-weight="bold"'
    lines = [
        f'<text x="{box.xy[0]:.1f}" y="{y + LINE * (number + 1):.1f}" text-anchor="middle"'
        f"{bold if number == 0 else ''}>{html.escape(line.strip())}</text>"
        for number, line in enumerate(of.lines)
    ]
    return [
        f'<g data-name="{html.escape(name)}"><title>{html.escape(of.title)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.w:.1f}" '
        f'height="{box.h}" rx="4" fill="{of.colour}" stroke="#555"/>',
        *lines,
        "</g>",
    ]
