"""Tables of ``step explain``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from sim_approx.explain.explanation import Explanation, explain
from sim_approx.explain.limit import folded_shares, limit, summed
from sim_approx.explain.usage import Usage
from step.programs.folding import members
from step.programs.program import Program
from step_cli.console import share, table

SHOWN = 12
"""Rows of a critical path."""


def tables(found: Explanation, top: int, *, unfold: bool = False) -> Iterator[str]:
    """The critical path, its ``top`` causes first, what became of the cycles of every operator, and what was used.

    Repeated parts have one row, unless they are to ``unfold``.
    """
    yield from _path(found, top)
    yield ""
    yield _operators(found, {name: name for name in found.parts} if unfold else found.parts)
    yield ""
    yield from _usage(found.usage)
    if found.advice is not None:
        yield found.advice.text
    if found.what_if:
        yield ""
        rows = ((each.text, each.cycles, f"{1 - each.cycles / found.cycles:.1%}") for each in found.what_if)
        yield table("what if", ("change", "cycles", "gain"), rows)


def path_of(program: Program, max_cycles: int | None = None) -> Iterator[str]:
    """The critical path of ``program``, for verbs that are about something else."""
    yield ""
    yield from _path(explain(program, changes=False, max_cycles=max_cycles), SHOWN)


def _path(found: Explanation, top: int) -> Iterator[str]:
    """The ``top`` causes along the critical path, the rest in a line, and what limits the run."""
    title = f"{found.program.name}: {found.cycles:,} cycles along the critical path"
    rows = [
        (next(iter(of)) if len(of) == 1 else f"{what} ({len(of)} of them)", why, sum(of.values()))
        for (what, why), of in folded_shares(found).items()
    ]
    shown, rest = rows[:top], rows[top:]
    if rest:
        shown.append((f"{len(rest)} others", "", sum(cycles for *_, cycles in rest)))
    cells = ((*row, f"{row[-1] / found.cycles:.1%}") for row in shown)
    yield table(title, ("what", "why", "cycles", "share"), cells, names=("why",))
    if limiting := limit(found):
        yield limiting.text
        if limiting.where:
            yield f"  {limiting.where}"


def _operators(found: Explanation, parts: Mapping[str, str]) -> str:
    """A row for each of the ``parts``, with the mean of those that it stands for, and the one that is busy most."""
    rows = []
    sums = [(part, summed(found, names, parts), names) for part, names in members(parts).items()]
    for part, each, names in sorted(sums, key=lambda row: (-row[1].busy / len(row[2]), row[0])):
        of, most = found.cycles * len(names), max(found.accounts[name].busy for name in names)
        waits = *_waits(each.starved, of), *_waits(each.blocked, of)
        rows.append(
            (part, str(len(names)), share(each.busy, of), share(most, found.cycles), *waits, share(each.finished, of))
        )
    headings = ("operator", "count", "busy", "at most", "starved", "on", "blocked", "by", "finished")
    return table("operators, in % of the cycles", headings, rows, names=("on", "by"))


def _waits(cycles: Counter[str], of: int) -> tuple[str, str]:
    """The sum, and the one that most of it is for."""
    most = cycles.most_common(1)[0][0] if cycles else "-"
    return share(cycles.total(), of), most + (f" +{len(cycles) - 1}" if len(cycles) > 1 else "")


def _usage(used: Usage) -> Iterator[str]:
    parts = []
    for title, shares in (("lanes", used.lanes), ("links", used.links)):
        if shares:
            name = max(shares, key=lambda each: shares[each])
            parts.append(f"{title}: {shares[name]:.1%} at most ({name})")
    yield "; ".join([*parts, f"memory: {used.memory:.1%} of its bandwidth"])
    roofline = used.roofline
    if not roofline.flops:
        yield "roofline: no operations, so there is no roof to show"
    elif roofline.intensity is None:
        yield f"roofline: {roofline.attained:.3g} of {roofline.roof:.3g} operations a cycle, and no byte goes off chip"
    else:
        allowing = "lanes allow" if roofline.roof == roofline.peak else "bandwidth allows"
        yield (
            f"roofline: {roofline.attained:.3g} operations a cycle, {roofline.attained / roofline.roof:.1%} of the "
            f"{roofline.roof:.3g} that {allowing} at {roofline.intensity:.3g} operations a byte"
        )
    if roofline.useful < roofline.flops:
        yield f"  useful: {roofline.useful / roofline.flops:.1%} of the operations; the others are on padding"
