"""The page with the claims, made of the result files."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from experiments.fabric import capacity
from experiments.fabric.findings import findings
from experiments.fabric.tables import grid
from experiments.published.page import CLAIMS
from experiments.published.show import claim, shares
from experiments.published.show.results import Results, told
from experiments.said import filled

TIMINGS = ("published", "fabric")


def page(results: Path) -> str:
    """Every claim, what holds on our fabric, and what both leave open."""
    claims = chain.from_iterable(each.claims() for each in CLAIMS)
    both = [Results(results, timing) for timing in TIMINGS]
    parts = [filled(Path(__file__).with_name("introduction.md"))]
    if found := findings(results):
        parts += ["## What holds on our fabric", "\n".join(f"* {each}" for each in found)]
    parts += ["## Claims", CLAIMED, claim.table(claims, *both)]
    if table := capacity.table(results):
        parts += ["## On-chip memory that is not enough for all", capacity.words(results), table]
    if shared := told(lambda: _shares(both)):
        parts += ["## How much of a layer is not its mixture", shared]
    return "\n\n".join(parts) + "\n"


def _shares(both: list[Results]) -> str:
    """Fig. 17 with more work in all schedules."""
    lines = [line for results in both for model in shares.ROWS for line in shares.lines(results, model)]
    return f"{shares.words(both)}\n\n{grid(shares.HEAD, lines)}"


CLAIMED = f"""\
Published is what the paper says, reproduced what its programs give on the published timing, fair the same comparison
there with the same on both sides ({claim.SAME} where the published one has that already), and our fabric the published
comparison on the fast model, where both sides have the same operations a cycle. A blank cell has no result yet, or none
that could be."""
