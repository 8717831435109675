"""The roofline of a run as SVG, with its operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.usage import Roofline
from step.host.texts import filled
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
    intensities = [ridge, roofline.intensity, *(each.intensity for each in others)]
    least, most = min(intensities) / 2, max(intensities) * 2
    low = min([roofline.attained, *(each.attained for each in others)]) / 2
    high = roofline.peak * 2

    def x(intensity: float) -> float:
        return round(LEFT + WIDTH * math.log(intensity / least) / math.log(most / least), 1)

    def y(operations: float) -> float:
        return round(TOP + HEIGHT * (1 - math.log(operations / low) / math.log(high / low)), 1)

    begin, memory = max(least, low / roofline.bandwidth), roofline.bandwidth
    return filled(
        Path(__file__).parent / "page" / "roofline.svg.in",
        **{"left": LEFT, "top": TOP, "width": WIDTH, "height": HEIGHT, "bottom": TOP + HEIGHT, "x": x, "y": y},
        **{"roofline": roofline, "others": others, "run": RUN, "part": PART, "begin": begin},
        across=[(each, number(each)) for each in ticks(least, most)],
        up=[(each, number(each)) for each in ticks(low, high)],
        roof=[(begin, begin * memory), (ridge, roofline.peak), (most, roofline.peak)],
    )
