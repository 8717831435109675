"""A run as one page of HTML that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
import json
from collections import Counter
from importlib.resources import files
from string import Template

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.limit import RunLimit, limit
from sim_approx.explain.page_data import page_data
from sim_approx.explain.roofline import PART, RUN, chart, points
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
    page, limiting = files("sim_approx.explain") / "page", limit(found)
    template = Template((page / "report.html").read_text())
    pictures, centre = _pictures(found, limiting)
    data = {**page_data(found), "centre": centre, "colours": COLOURS}
    return template.substitute(
        title=html.escape(f"{found.program.name}: {found.cycles:,} cycles"),
        style=(page / "report.css").read_text(),
        script="\n".join((page / each).read_text() for each in SCRIPTS),
        play=f'<p><a href="{html.escape(play)}">Play the run</a></p>' if play else "",
        summary="".join(f"<p>{html.escape(each)}.</p>" for each in summary(found, limiting)),
        changes=_changes(found),
        heat=_key(dict(zip(("none", *(f"up to {each:.0%}" for each in LIMITS[1:])), HEAT, strict=True))),
        views="".join(f'<button data-view="{html.escape(each)}">{html.escape(each)}</button>' for each in pictures),
        graphs="".join(
            f'<div class="view" data-view="{html.escape(name)}">{drawn}</div>' for name, drawn in pictures.items()
        ),
        key=_key({name: COLOURS[name] for name in ("busy", "blocked", "starved", "finished")}),
        roofline=_roofline(found),
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


def _key(colours: dict[str, str]) -> str:
    return "".join(f'<span style="background:{colour}"></span>{name}' for name, colour in colours.items())


def _changes(found: Explanation) -> str:
    if not found.what_if:
        return "<p>Nothing that was tried gains a cycle, or nothing was tried.</p>"
    rows = [(each.text, each.cycles, f"{1 - each.cycles / found.cycles:.1%}") for each in found.what_if]
    return table(("change", "cycles", "gain"), rows)


def _roofline(found: Explanation) -> str:
    roofline = found.usage.roofline
    if not roofline.flops or not roofline.bytes_moved:
        moved = f"{roofline.bytes_moved:,} off-chip bytes"
        return f"<p>{roofline.flops:,} operations and {moved}: there is no roof to show.</p>"
    useful = ""
    if roofline.useful < roofline.flops:
        useful = f" {roofline.useful / roofline.flops:.1%} of the operations are useful; the others are on padding."
    share = f"{roofline.attained / roofline.roof:.1%} of the {roofline.roof:.4g} operations a cycle"
    keys = {
        "this run: operations an off-chip byte": RUN,
        "an operator, or the mean of those alike: operations a byte of its links": PART,
    }
    said = f"<p>{share} that lanes and memory allow.{useful}</p>"
    return f'{said}<p class="key">{_key(keys)}</p>{chart(roofline, points(found))}'
