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

FREED = (
    ("mixtral", "dynamic", "performance-matched", "20 %"),
    ("qwen", "dynamic on 32 regions", "performance-matched", "88 %"),
    ("qwen", "dynamic on 32 regions", "memory-matched", "69 %"),
)
"""The published share of on-chip memory that is not needed, of another layer's."""

SENTENCE = {
    "performance-matched": "Static tiles of more rows. The artifact has neither graph nor script: one layer of "
    "`step_models.decoder`, measured routing.",
    "dynamic": "The same layer with dynamic tiles and dynamic regions, and as many operations a cycle. Of Qwen3 the "
    "paper's text says 1.15.",
}


def claims() -> Iterator[Claim]:
    """Speedups over the memory-matched layer, and memory that is not needed."""
    for model, schedule, speedup in PUBLISHED:
        yield Claim(
            f"{schedule} over memory-matched, a layer of {model}, figure 17",
            f"{speedup:.3f}",
            partial(_speedup, model, schedule),
            None,
            partial(_sentence, schedule),
        )
    for model, schedule, other, freed in FREED:
        yield Claim(
            f"on-chip memory that {schedule} frees, against {other}, a layer of {model}, figure 17",
            freed,
            partial(_freed, model, schedule, other, "all_on_chip_bytes", "used_on_chip_bytes"),
            partial(_freed, model, schedule, other, "equation_on_chip_bytes", "equation_on_chip_bytes"),
            lambda results: (
                "Published: experts without tokens count for static tiles only. Fair: for none, by the "
                "paper's equations."
            ),
        )


def _sentence(schedule: str, results: Results) -> str:
    return SENTENCE[schedule]


def _speedup(model: str, schedule: str, results: Results) -> str:
    cycles = [results.number("17", f"{model} {name}") for name in ("memory-matched", schedule)]
    return f"{cycles[0] / cycles[1]:.3f}"


def _freed(model: str, schedule: str, other: str, of: str, memory: str, results: Results) -> str:
    static, dynamic = (
        results.number("17", f"{model} {name}", column) for name, column in ((other, of), (schedule, memory))
    )
    return f"{1 - dynamic / static:.0%}"
