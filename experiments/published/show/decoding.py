"""Claims of Fig. 17: whole decoder layers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from experiments.published.show.claim import Claim
from experiments.published.show.results import Results

PUBLISHED = (
    ("mixtral", "performance-matched", 1.214),
    ("mixtral", "dynamic", 1.271),
    ("qwen", "performance-matched", 1.096),
    ("qwen", "dynamic", 1.246),
)
"""The published bars: speedup over the layer with static tiles of the same memory."""

SENTENCE = {
    "performance-matched": "Static tiles of more rows. The artifact has neither graph nor script: one layer of "
    "`step_models.decoder`, measured routing.",
    "dynamic": "The same layer with dynamic tiles and dynamic regions, and as many operations a cycle. Of Qwen3 the "
    "paper's text says 1.15.",
}


def claims() -> Iterator[Claim]:
    """Speedups over the memory-matched layer."""
    for model, schedule, speedup in PUBLISHED:
        yield Claim(
            f"{schedule} over memory-matched, a layer of {model}, figure 17",
            f"{speedup:.3f}",
            partial(_speedup, model, schedule),
            None,
            lambda results, schedule=schedule: SENTENCE[schedule],
        )


def _speedup(model: str, schedule: str, results: Results) -> str:
    cycles = [results.number("17", f"{model} {name}") for name in ("memory-matched", schedule)]
    return f"{cycles[0] / cycles[1]:.3f}"
