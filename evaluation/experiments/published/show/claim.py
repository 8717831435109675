"""A claim of the paper, and what is left of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from experiments.published.show.results import FigureRows, told

HEAD = ("| claim | published | reproduced | fair | our fabric | |", "|---|---:|---:|---:|---:|---|")

SAME = "-"
"""In place of a fair version, where the published comparison has the same on both sides already."""


@dataclass(frozen=True)
class Claim:
    """``published`` is what the paper says; ``value`` gives the same of results, as text.

    ``fair``: that where both sides have the same; None where the published comparison is fair. ``words``: a sentence.
    ``reproduced`` stands in place of what results on the published timing give. ``fabric``: what is compared on our
    fabric, unless that is ``value``.
    """

    name: str
    published: str
    value: Callable[[FigureRows], str]
    fair: Callable[[FigureRows], str] | None
    words: Callable[[FigureRows], str]
    reproduced: str = ""
    fabric: Callable[[FigureRows], str] | None = None


def table(claims: Iterable[Claim], ours: FigureRows, fabric: FigureRows) -> str:
    """A line per claim, as Markdown, and below them the sentences that several share.

    ``ours`` are the results on the published timing.
    """
    lines = list(HEAD)
    words = {claim: told(partial(claim.words, ours)) for claim in claims}
    shared = [each for each, times in Counter(words.values()).items() if times > 1 and each]
    for claim, said in words.items():
        cells = (
            claim.name,
            claim.published,
            claim.reproduced or told(partial(claim.value, ours)),
            told(partial(claim.fair, ours)) if claim.fair else SAME,
            told(partial(claim.fabric or claim.value, fabric)),
            f"Note {shared.index(said) + 1}" if said in shared else said,
        )
        lines.append(f"| {' | '.join(cells)} |")
    notes = (f"* Note {number}. {each}" for number, each in enumerate(shared, 1))
    return "\n".join([*lines, *([""] if shared else []), *notes])
