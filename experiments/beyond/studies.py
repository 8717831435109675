"""The studies, by name, and how their points are run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from experiments.beyond import arrivals, mixtures
from experiments.work import Campaign
from step.host.progress import Progress

STUDIES: dict[str, Campaign] = {
    study: campaign for campaign in (mixtures.CAMPAIGN, arrivals.CAMPAIGN) for study in campaign.figures
}


def run(
    studies: Iterable[str],
    results: Path,
    jobs: int,
    progress: Progress,
    *,
    first: int | None = None,
    anew: bool = False,
) -> list[str]:
    """Run the points of ``studies`` that have no results, so many ``first`` of each at most; see `Campaign.run`."""
    failed = []
    for study in studies:
        tasks = [(study, point.name) for point in islice(STUDIES[study].figures[study](), first)]
        failed += STUDIES[study].run(tasks, results, jobs, progress, anew=anew)
    return failed
