"""The page of all tables of the evaluation, made of the result files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

from experiments.beyond import page as beyond
from experiments.fabric import capacity
from experiments.fabric import page as fabric
from experiments.fabric.findings import findings
from experiments.fabric.tables import grid
from experiments.published import page as published
from experiments.published.page import CLAIMS
from experiments.published.show import claim, shares
from experiments.published.show.results import FigureRows, told
from experiments.said import filled, laid_out, nested
from step.host.files import write_atomically

NAME = "evaluation_tables.md"
TIMINGS = ("published", "fabric")


def write_page(folder: Path, results: Path) -> None:
    """Write the page of ``results`` into ``folder``, and its pictures beside it."""
    beyond.write_pictures(folder, results)
    write_atomically(folder / NAME, page(results).encode())


def page(results: Path) -> str:
    """The findings, then the figures on both timings, then what is beyond them."""
    parts = (part(results) for part in PARTS)
    return laid_out("\n\n".join((claimed(results), *map(nested, parts)))) + "\n"


def claimed(results: Path) -> str:
    """Every claim, what holds on our fabric, and what both leave open."""
    claims = chain.from_iterable(each.claims() for each in CLAIMS)
    both = [FigureRows(results, timing) for timing in TIMINGS]
    parts = [filled(Path(__file__).with_name("introduction.md"))]
    if found := findings(results):
        parts += ["## What holds on our fabric", "\n".join(f"* {each}" for each in found)]
    if pays := beyond.pays(results):
        parts += ["## What pays beyond the figures", "\n".join(f"* {each}" for each in pays)]
    parts += ["## Claims", CLAIMED, claim.table(claims, *both)]
    if table := capacity.table(results):
        parts += ["## On-chip memory that is not enough for all", capacity.words(results), table]
    if shared := told(lambda: _shares(both)):
        parts += ["## How much of a layer is not its mixture", shared]
    return "\n\n".join(parts)


def _shares(both: list[FigureRows]) -> str:
    """Fig. 17 with more work in all schedules."""
    lines = [line for results in both for model in shares.ROWS for line in shares.lines(results, model)]
    return f"{shares.words(both)}\n\n{grid(shares.HEAD, lines)}"


PARTS: tuple[Callable[[Path], str], ...] = (published.page, fabric.page, beyond.page)
CLAIMED = f"""\
*Published* is the paper's number. *Reproduced* is what its programs give on the published timing. *Fair* is the same
comparison there with equal means on both sides ({claim.SAME} where the published one is fair already). *Our fabric* is
the published comparison on the fast model, with equal operations a cycle on both sides. A blank cell has no result yet,
or none is possible."""
