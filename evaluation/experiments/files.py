"""All result files that there are, by name, and the campaigns whose points are in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments import queues
from experiments.beyond import arrivals, mixtures
from experiments.distance import points as distance
from experiments.fabric import dram, memories, products, record, worst
from experiments.fabric.explained import FILE as EXPLAINED
from experiments.published import rows as published
from experiments.published.points import SHOWN
from experiments.streamtensor import ablations, cards, compiling, energy, layers, small, valued
from experiments.streamtensor import points as streamtensor
from experiments.work import Experiment, Task
from step.errors import InputError
from step.host.nearest import did_you_mean

CAMPAIGNS: tuple[Experiment, ...] = (
    *(published.CAMPAIGN, queues.CAMPAIGN),
    *(record.CAMPAIGN, memories.CAMPAIGN, dram.CAMPAIGN, products.CAMPAIGN, worst.CAMPAIGN),
    *(mixtures.CAMPAIGN, arrivals.CAMPAIGN, streamtensor.CAMPAIGN, small.CAMPAIGN, valued.CAMPAIGN, layers.CAMPAIGN),
    *(distance.CAMPAIGN, compiling.CAMPAIGN, energy.CAMPAIGN, ablations.CAMPAIGN, cards.CAMPAIGN),
)
FILES: dict[str, tuple[Experiment, str]] = {
    each.file(Path(), figure).stem: (each, figure) for each in CAMPAIGNS for figure in each.figures
}
"""By its name, the campaign and the figure of a file."""

EXPLANATIONS = Path(EXPLAINED).stem
"""What limits the points of our fabric has a file of its own, made of those of all its figures."""

SMOKE = {
    "published_fig8": ["64x128"],
    "published_fig15": ["B=16 coarse", "B=16 interleaved"],
    "fabric_smoke": [each.name for each in record.POINTS["smoke"]()],
    **{name: [next(each.figures[figure]()).name] for name, (each, figure) in FILES.items() if each.name == "beyond"},
}
"""Points of every kind that take seconds."""


def named(names: Iterable[str]) -> list[str]:
    """The files, and `EXPLANATIONS`, of which the names begin with one of ``names``; all but the smoke test for none.

    A figure that shows something else of the points of another one stands for that one, too. Raises `InputError` for a
    name that none begins with.
    """
    prefixes = ("published", "fabric")
    shown = {f"{each}_fig{figure}": f"{each}_fig{of}" for each in prefixes for figure, of in SHOWN.items()}
    known = [*FILES, EXPLANATIONS, *shown]
    found: dict[str, None] = {}
    for name in names:
        begun = [each for each in known if each == name] or [each for each in known if each.startswith(name)]
        if not begun:
            raise InputError(
                f"there is no result file {name!r}; {did_you_mean(name, known)}there are {', '.join(sorted(known))}"
            )
        found |= dict.fromkeys(shown.get(each, each) for each in begun)
    return [each for each in [*FILES, EXPLANATIONS] if each in found or (not found and each != "fabric_smoke")]


def tasks(campaign: Experiment, figure: str, only: str = "") -> Iterator[Task]:
    """The points of a file that have ``only`` in their names."""
    return ((figure, point.name) for point in campaign.figures[figure]() if only in point.name)
