"""The roofline of a run as SVG, with its operators."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.usage import Roofline
from step.programs.folding import members

LEFT, TOP, WIDTH, HEIGHT = 70, 20, 620, 300
RUN, PART = "#c22f2f", "#5b84b1"


@dataclass(frozen=True)
class RoofPoint:
    """Operators that are alike: operations a byte of their links and operations a cycle, of one on average, and the
    share of what its lanes could do."""

    part: str
    count: int
    intensity: float
    attained: float
    share: float


def points(found: Explanation) -> list[RoofPoint]:
    """All operators with operations, also of tiles of dynamic size; repeated parts as one."""
    netlist, used, cycles = found.simulation.fabric.netlist, found.usage, max(found.cycles, 1)
    shown = []
    for part, names in members(found.parts).items():
        work = [(name, used.work[name]) for name in names if name in used.work]
        operations = sum(each.operations for _, each in work)
        words = 0.0
        for name, _ in work:
            node = netlist.graph.nodes[name]
            around = (*netlist.inputs(node), *(each for each in netlist.outputs(node) if each is not None))
            words += sum(used.links[each.name] for each in around) * cycles
        if operations and words:
            intensity = operations / (words * netlist.fabric.link_bytes)
            peak = sum(each.a_cycle for _, each in work)
            attained = operations / cycles / len(work)
            shown.append(RoofPoint(part, len(work), intensity, attained, operations / (cycles * peak)))
    return shown


def ticks(low: float, high: float) -> Iterator[float]:
    """Powers of two from ``low`` to ``high``: every one, or of many every second, fourth, .."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = 1
    while (last - first) // step > 9:
        step *= 2
    yield from (2.0**power for power in range(first, last + 1) if power % step == 0)


def number(value: float) -> str:
    """A power of two as people write it."""
    return f"{value:,.0f}" if value >= 1 else f"1/{1 / value:,.0f}"


def chart(roofline: Roofline, others: list[RoofPoint]) -> str:
    """SVG: the roof, the run, and its operators; ``roofline`` must have operations, and bytes moved."""
    assert roofline.intensity and roofline.flops
    ridge = roofline.peak / roofline.bandwidth
    across = [ridge, roofline.intensity, *(each.intensity for each in others)]
    least, most = min(across) / 2, max(across) * 2
    low = min([roofline.attained, *(each.attained for each in others)]) / 2
    high = roofline.peak * 2

    def x(intensity: float) -> float:
        return round(LEFT + WIDTH * math.log(intensity / least) / math.log(most / least), 1)

    def y(operations: float) -> float:
        return round(TOP + HEIGHT * (1 - math.log(operations / low) / math.log(high / low)), 1)

    bottom, begin = TOP + HEIGHT, max(least, low / roofline.bandwidth)
    parts = [
        f'<svg width="{LEFT + WIDTH + 40}" height="{bottom + 50}" font-family="Helvetica, sans-serif" font-size="12">'
    ]
    for value in ticks(least, most):
        parts.append(f'<path d="M{x(value)} {TOP}V{bottom}" stroke="#eee"/>')
        parts.append(f'<text x="{x(value)}" y="{bottom + 16}" text-anchor="middle" fill="#666">{number(value)}</text>')
    for value in ticks(low, high):
        parts.append(f'<path d="M{LEFT} {y(value)}H{LEFT + WIDTH}" stroke="#eee"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4}" text-anchor="end" fill="#666">{number(value)}</text>')
    corners = ((begin, begin * roofline.bandwidth), (ridge, roofline.peak), (most, roofline.peak))
    roof = " ".join(f"{x(each)},{y(operations)}" for each, operations in corners)
    parts += [
        f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + WIDTH}" fill="none" stroke="#888"/>',
        f'<polyline points="{roof}" fill="none" stroke="#333" stroke-width="2"/>',
    ]
    for each in others:
        title = (
            f"{each.part}{f' ({each.count} alike)' if each.count > 1 else ''}: {each.attained:.3g} operations a cycle, "
            f"{each.share:.1%} of its lanes, {each.intensity:.3g} operations a byte of its links"
        )
        parts.append(
            f'<circle cx="{x(each.intensity)}" cy="{y(each.attained)}" r="{4 if each.count == 1 else 6}" '
            f'fill="{PART}" fill-opacity="0.6" stroke="#fff"><title>{html.escape(title)}</title></circle>'
        )
    where = x(roofline.intensity), y(roofline.attained)
    middle = TOP + HEIGHT // 2
    parts += [
        f'<circle cx="{where[0]}" cy="{where[1]}" r="6" fill="{RUN}"><title>the run: {roofline.attained:.3g} '
        f"operations a cycle, {roofline.intensity:.3g} operations an off-chip byte</title></circle>",
        f'<text x="{where[0] + 10}" y="{where[1] + 4}">this run: {roofline.attained:.3g}</text>',
        f'<text x="{LEFT + WIDTH}" y="{y(roofline.peak) - 6}" text-anchor="end">'
        f"lanes: {roofline.peak:,} operations a cycle</text>",
        f'<text x="{x(begin) + 24}" y="{y(begin * roofline.bandwidth) - 4}">'
        f"memory: {roofline.bandwidth:,.4g} bytes a cycle</text>",
        f'<text x="{LEFT + WIDTH // 2}" y="{bottom + 40}" text-anchor="middle">operations a byte</text>',
        f'<text x="16" y="{middle}" transform="rotate(-90 16 {middle})" text-anchor="middle">operations a cycle</text>',
        "</svg>",
    ]
    return "".join(parts)
