"""A run as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
import json
import math
from collections import Counter
from importlib.resources import files
from string import Template

import numpy as np

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.timeline import timeline
from sim_approx.explain.usage import Roofline
from step.programs.pictures.drawing import svg
from step.programs.tables import Markup, bar, table
from step.running.result import Activity, ChannelEvents
from step.running.run import ACTIVITIES, COLOURS

HEAT = ("#ffffff", "#fff3c9", "#ffd98a", "#fdae61", "#e66a3c", "#c22f2f")
"""Colours of an operator: nothing of the critical path, and up to 1, 5, 20, 50 and 100 % of it."""
LIMITS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)

BARS = 16
"""Bars of a histogram, at most."""


def report(found: Explanation) -> str:
    """The page; raises `EnvironmentProblem` where nothing is installed that draws the graph."""
    shares = Counter[str]()
    for cause, cycles in found.path.shares().items():
        shares[cause.what] += cycles
    netlist = found.simulation.fabric.netlist
    heat = {node.name: _heat(shares[node.name] / found.cycles) for node in netlist.graph}
    drawn = svg(netlist.graph, netlist.fabric, heat)
    page = files("sim_approx.explain") / "page"
    template = Template((page / "report.html").read_text())
    return template.substitute(
        title=html.escape(f"{found.program.name}: {found.cycles:,} cycles"),
        style=(page / "report.css").read_text(),
        script=(page / "report.js").read_text(),
        summary=_summary(found),
        path=_path(found),
        changes=_changes(found),
        heat=_key(dict(zip(("none", *(f"up to {each:.0%}" for each in LIMITS[1:])), HEAT, strict=True))),
        graph=drawn[drawn.index("<svg") :],
        key=_key(COLOURS),
        operators=_operators(found),
        channels=_channels(found),
        roofline=_roofline(found.usage.roofline),
        data=json.dumps(_data(found), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _heat(share: float) -> str:
    return next(colour for colour, limit in zip(HEAT, LIMITS, strict=True) if share <= limit)


def _key(colours: dict[str, str]) -> str:
    return "".join(f'<span style="background:{colour}"></span>{name}' for name, colour in colours.items())


def _summary(found: Explanation) -> str:
    cause, cycles = next(iter(found.path.shares().items()))
    return html.escape(
        f"Most of the critical path, {cycles / found.cycles:.1%}, goes to: {cause.what} ({cause.why}). The off-chip "
        f"memory is used to {found.usage.memory:.1%}."
    )


def _path(found: Explanation) -> str:
    rows = [
        (*cause, cycles, f"{cycles / found.cycles:.2%}", bar({cause.why: cycles / found.cycles}, {cause.why: HEAT[4]}))
        for cause, cycles in found.path.shares().items()
    ]
    return f'<div class="scroll">{table(("what", "why", "cycles", "share", ""), rows)}</div>'


def _changes(found: Explanation) -> str:
    if not found.what_if:
        return "<p>Nothing that was tried gains a cycle, or nothing was tried.</p>"
    rows = [(each.text, each.cycles, f"{1 - each.cycles / found.cycles:.1%}") for each in found.what_if]
    return table(("change", "cycles", "gain"), rows)


def _operators(found: Explanation) -> str:
    rows = []
    for name, each in found.accounts.items():
        counted = found.result.operators[name]
        spent = {activity: getattr(counted, activity) for activity in ACTIVITIES}
        shares = bar({activity: cycles / found.cycles for activity, cycles in spent.items()}, COLOURS)
        rows.append((name, *spent.values(), shares, _names(each.starved), _names(each.blocked)))
    return table(("operator", *ACTIVITIES, "share of the cycles", "starved on", "blocked by"), rows)


def _names(cycles: Counter[str]) -> str:
    return ", ".join(f"{name} {each:,}" for name, each in cycles.most_common(3))


def _channels(found: Explanation) -> str:
    rows = []
    assert found.result.events is not None
    for name, each in found.result.channels.items():
        levels = _levels(found.result.events[name], each.capacity, found.cycles)
        used = found.usage.links[name]
        rows.append((name, each.tokens, each.peak, each.capacity, f"{used:.1%}", _histogram(levels)))
    return table(("channel", "tokens", "peak", "capacity", "link used", "occupancy"), rows)


def _levels(events: ChannelEvents, capacity: int, cycles: int) -> np.ndarray:
    """Cycles in which the channel held 0, 1, ... ``capacity`` tokens."""
    changes = np.zeros(cycles + 1, np.int64)
    np.add.at(changes, np.minimum(events.cycles + 1, cycles), 1)
    np.add.at(changes, np.minimum(events.leaves + 1, cycles), -1)
    return np.bincount(np.cumsum(changes[:-1]), minlength=capacity + 1)


def _histogram(levels: np.ndarray) -> Markup:
    size = -(-len(levels) // BARS)
    total = levels.sum()
    bars = []
    for first in range(0, len(levels), size):
        share = levels[first : first + size].sum() / total
        last = min(first + size, len(levels)) - 1
        title = f"{first}: {share:.1%}" if first == last else f"{first} to {last}: {share:.1%}"
        bars.append(f'<i title="{title}" style="height:{max(share, 0.02 if share else 0) * 100:.0f}%"></i>')
    return Markup(f'<span class="levels">{"".join(bars)}</span>')


def _roofline(roofline: Roofline | None) -> str:
    if roofline is None:
        return "<p>Operations on tiles of dynamic size are not counted.</p>"
    if not roofline.flops or not roofline.bytes_moved:
        moved = f"{roofline.bytes_moved:,} off-chip bytes"
        return f"<p>{roofline.flops:,} operations and {moved}: there is no roof to show.</p>"
    share = f"{roofline.attained / roofline.roof:.1%} of the {roofline.roof:.4g} operations a cycle"
    return f"<p>{share} that lanes and memory allow.</p>{chart(roofline, HEAT[-1])}"


def _data(found: Explanation) -> dict[str, object]:
    """What the timeline is drawn from."""
    lines = timeline(found)
    causes = {cause: number for number, cause in enumerate(dict.fromkeys(lines.path))}
    return {
        "cycles": found.cycles,
        "width": lines.width,
        "bins": len(lines.path),
        "operators": list(lines.operators.items()),
        "activities": [each.name.lower() for each in Activity],
        "colours": [COLOURS[each.name.lower()] for each in Activity],
        "path": [causes[each] for each in lines.path],
        "causes": [f"{each.what} ({each.why})" for each in causes],
    }


LEFT, TOP, WIDTH, HEIGHT = 60, 20, 500, 240


def chart(roofline: Roofline, colour: str) -> str:
    """SVG, with the run as a dot of this ``colour``; `roofline` must have operations, and bytes moved."""
    assert roofline.intensity and roofline.flops
    ridge = roofline.peak / roofline.bandwidth
    least, most = min(ridge, roofline.intensity) / 8, max(ridge, roofline.intensity) * 8
    low, high = min(roofline.attained, least * roofline.bandwidth) / 2, roofline.peak * 2

    def place(intensity: float, operations: float) -> tuple[float, float]:
        right = math.log(intensity / least) / math.log(most / least)
        up = math.log(operations / low) / math.log(high / low)
        return round(LEFT + WIDTH * right, 1), round(TOP + HEIGHT * (1 - up), 1)

    corners = (least, least * roofline.bandwidth), (ridge, roofline.peak), (most, roofline.peak)
    roof = " ".join("{},{}".format(*place(*corner)) for corner in corners)
    across, down = place(roofline.intensity, roofline.attained)
    peak_across, peak_down = place(ridge, roofline.peak)
    bottom, middle = TOP + HEIGHT, TOP + HEIGHT // 2
    return (
        f'<svg width="{LEFT + WIDTH + 40}" height="{bottom + 50}" font-family="Helvetica, sans-serif" font-size="12">'
        f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + WIDTH}" fill="none" stroke="#888"/>'
        f'<polyline points="{roof}" fill="none" stroke="#333" stroke-width="2"/>'
        f'<circle cx="{across}" cy="{down}" r="5" fill="{colour}"/>'
        f'<text x="{across + 9}" y="{down + 4}">this run: {roofline.attained:.3g}</text>'
        f'<text x="{peak_across + 4}" y="{peak_down - 6}">lanes: {roofline.peak:,} operations a cycle</text>'
        f'<text x="{LEFT + 4}" y="{bottom - 8}">memory: {roofline.bandwidth:,.4g} bytes a cycle</text>'
        f'<text x="{LEFT + WIDTH // 2}" y="{bottom + 30}" text-anchor="middle">operations a byte '
        f"(this run: {roofline.intensity:.3g})</text>"
        f'<text x="20" y="{middle}" transform="rotate(-90 20 {middle})" text-anchor="middle">operations a cycle</text>'
        "</svg>"
    )
