"""The page with the claims, made of the result files."""

from __future__ import annotations

from pathlib import Path

from experiments.fabric.findings import findings


def page(results: Path) -> str:
    """What is left of each claim, and what holds on our fabric."""
    parts = [Path(__file__).with_name("introduction.md").read_text().rstrip()]
    if found := findings(results):
        parts += ["## What holds on our fabric", "\n".join(f"* {each}" for each in found)]
    return "\n\n".join(parts) + "\n"
