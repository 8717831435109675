"""A run as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.limit import RunLimit, limit
from sim_approx.explain.page_data import page_data
from sim_approx.explain.roofline import PART, RUN, chart, points
from step.host.texts import filled
from step.programs.folding import members, starred
from step.programs.pictures.drawing import svg
from step.programs.pictures.sketch import fold, sketch
from step.programs.tables import table
from step.running.output import COLOURS

HEAT = ("#ffffff", "#fff3c9", "#ffd98a", "#fdae61", "#f08a5d", "#e8604c")
"""Colours of an operator: nothing of the critical path, and up to 1, 5, 20, 50 and 100 % of it."""
LIMITS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)

WHOLE = 120
"""Operators of the largest graph that is drawn without folding as well."""

SCRIPTS = ("tables.js", "timeline.js", "graph.js")


def report(found: Explanation, play: str = "") -> str:
    """The page; ``play``: the address of the one on which the run's tokens move, for a link.

    Raises `EnvironmentProblem` where nothing is installed that draws the graph.
    """
    page, limiting, roofline = Path(__file__).parent / "page", limit(found), found.usage.roofline
    pictures, centre = _pictures(found, limiting)
    data = {**page_data(found), "centre": centre, "colours": COLOURS}
    changes = [(each.text, each.cycles, f"{1 - each.cycles / found.cycles:.1%}") for each in found.what_if]
    return filled(
        page / "report.html",
        **{"play": play, "pictures": pictures, "summary": summary(found, limiting), "roofline": roofline},
        title=f"{found.program.name}: {found.cycles:,} cycles",
        style=(page / "report.css").read_text(),
        script="\n".join((page / each).read_text() for each in SCRIPTS),
        heat=dict(zip(("none", *(f"up to {each:.0%}" for each in LIMITS[1:])), HEAT, strict=True)),
        activities={name: COLOURS[name] for name in ("busy", "blocked", "starved", "finished")},
        changes=changes and table(("change", "cycles", "gain"), changes),
        chart=chart(roofline, points(found)) if roofline.flops and roofline.bytes_moved else "",
        points={
            "this run: operations an off-chip byte": RUN,
            "an operator, or the mean of those alike: operations a byte of its links": PART,
        },
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    )


def summary(found: Explanation, limiting: RunLimit | None) -> list[str]:
    """The first lines of a page: what limits, what gains most, and what became of the bandwidth."""
    lines = [] if limiting is None else [limiting.text]
    if found.what_if:
        best = found.what_if[0]
        fewer = f"{best.cycles:,} cycles ({1 - best.cycles / found.cycles:.1%} fewer)"
        lines.append(f"What gains most: {best.text}, {fewer}")
    return lines if found.advice is None else [*lines, found.advice.text]


def _pictures(found: Explanation, limiting: RunLimit | None) -> tuple[dict[str, str], dict[str, str]]:
    """Pictures by name, the first one is shown; and in which box of each is the unit that limits."""
    netlist, unit = found.simulation.fabric.netlist, None if limiting is None else limiting.unit
    flat, parts = sketch(netlist.graph, netlist.fabric, {}), found.parts
    shares = Counter[str]()
    for cause, cycles in found.path.shares().items():
        shares[cause.what] += cycles

    def drawn(parts: dict[str, str]) -> str:
        heat = {
            part: _heat(sum(shares[name] for name in names) / max(found.cycles, 1))
            for part, names in members(parts).items()
        }
        text = svg(fold(flat, parts, heat))
        return text[text.index("<svg") :]

    alone = {name: name for name in parts}
    if parts == alone:
        return {"all operators": drawn(alone)}, {"all operators": unit or ""}
    pictures, centre = {"folded": drawn(parts)}, {"folded": parts.get(unit or "", "")}
    if unit is not None and parts[unit] != unit:
        name = f"opened at {unit}"
        pictures[name] = drawn(opened(parts, unit))
        centre[name] = unit
    if len(parts) <= WHOLE:
        pictures["all operators"], centre["all operators"] = drawn(alone), unit or ""
    return pictures, centre


def opened(parts: dict[str, str], unit: str) -> dict[str, str]:
    """``parts``, of which the one of ``unit`` is not folded: no operator whose name has the same first number."""
    pattern, numbers = starred(unit), [each for each in unit.split("_") if starred(each) != each]
    first = numbers[0] if numbers else pattern
    found = {name: name if part != name and first in name.split("_") else part for name, part in parts.items()}
    return {**found, unit: unit}


def _heat(share: float) -> str:
    return next(colour for colour, limit in zip(HEAT, LIMITS, strict=True) if share <= limit + 1e-9)
