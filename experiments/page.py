"""The page with the claims, made of the result files."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from experiments.fabric.findings import findings
from experiments.published.page import CLAIMS
from experiments.published.show import claim
from experiments.published.show.results import Results


def page(results: Path) -> str:
    """Every claim, and what holds on our fabric."""
    claims = chain.from_iterable(each.claims() for each in CLAIMS)
    table = claim.table(claims, Results(results, "published"), Results(results, "fabric"))
    parts = [Path(__file__).with_name("introduction.md").read_text().rstrip()]
    if found := findings(results):
        parts += ["## What holds on our fabric", "\n".join(f"* {each}" for each in found)]
    return "\n\n".join([*parts, "## Claims", CLAIMED, table]) + "\n"


CLAIMED = """\
Published is what the paper says, reproduced what its programs give on the published timing, fair the same comparison
there with the same on both sides, and our fabric the published comparison on the fast model, where both sides have the
same operations a cycle. A blank cell has no result yet, or none that could be."""
