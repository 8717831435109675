"""``step fuzz``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from step.errors import InputError, SimulationError
from step.host.files import writing
from step_check.fuzz.campaign import TOGETHER, FuzzCampaign, checked, lost
from step_check.fuzz.program import OPERATORS
from step_check.fuzz.report import FuzzFinding, load_report, version
from step_cli.console import show, talk, working
from step_cli.options import FILE, FOLDER, Count, Scheduler
from step_cli.verb import NATURAL, POSITIVE, Default, verb
from step_explore.sweeps.cluster import workers


def _range(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--operators must be LOW..HIGH with 1 <= LOW <= HIGH, not {text!r}")
    return int(match[1]), int(match[2])


@verb
def command(
    *,
    count: Annotated[int, POSITIVE, "Programs."] = 100,
    seed: Annotated[int, NATURAL, "That of the first program."] = 0,
    operators: Annotated[tuple[int, int], _range, Default("{}..{}".format(*OPERATORS)), "LOW..HIGH", "In a program."],
    rtl: Annotated[int | None, NATURAL, "K", "Simulate K of the programs in RTL too."],
    save: Annotated[Path | None, FOLDER, "DIR", "Keep what fails there, made small."],
    again: Annotated[Path | None, FILE, "REPORT", "Run what a report in DIR is about, and nothing else."],
    jobs: Annotated[Count, "Processes.  [default: one]"],
    scheduler: Scheduler,
) -> None:
    """Make random programs and compare what the back ends do with them.

    Interpreter and fast model must agree in all values, and with --rtl the RTL as well, in the cycle of every token and
    in all counters. What fails is saved as it is found, and made smaller; `step run` and `step compare` take it.
    """
    if (rtl or 0) > count:
        raise InputError(f"--rtl {rtl} is more than the {count} programs of --count")
    campaign = FuzzCampaign(operators, save)
    if save is not None:
        with writing(save / "report" if save.is_dir() else save):  # told before the run, not after it
            save.mkdir(exist_ok=True)
    interrupted = False
    try:
        with working() as campaign.progress:
            if again is None:
                _all(campaign, range(seed, seed + count), rtl or 0, jobs, scheduler)
            else:
                _again(campaign, load_report(again))
    except KeyboardInterrupt:
        interrupted = True
    show(_plain(campaign, interrupted), _texts(campaign))
    if interrupted:
        raise KeyboardInterrupt
    if campaign.findings:
        raise SimulationError(f"the back ends disagree on {len(campaign.findings)} of the programs")


def _all(campaign: FuzzCampaign, seeds: range, rtl: int, jobs: int | None, scheduler: str | None) -> None:
    """The programs of ``seeds``, and ``rtl`` of those that agree in RTL."""
    good = sorted(_elsewhere(campaign, seeds, jobs, scheduler) if jobs or scheduler else _here(campaign, seeds))
    taken = 0
    while good and taken < rtl:
        batch, good = good[: min(TOGETHER, rtl - taken)], good[min(TOGETHER, rtl - taken) :]
        before = len(campaign.crowded)
        campaign.check_rtl(batch, batch[0])
        taken += len(batch) - (len(campaign.crowded) - before)


def _here(campaign: FuzzCampaign, seeds: range) -> Iterator[int]:
    """Seeds whose programs agree."""
    for number, each in enumerate(seeds, start=1):
        campaign.progress(f"program {number} of {len(seeds)}, {len(campaign.findings)} disagree")
        if campaign.check(each):
            yield each


def _elsewhere(campaign: FuzzCampaign, seeds: range, jobs: int | None, scheduler: str | None) -> Iterator[int]:
    """The same by other processes."""
    given = campaign.operators, campaign.save
    with workers(partial(checked, *given), partial(lost, *given), len(seeds), jobs, scheduler) as running:
        for number, (each, found) in enumerate(running.rows(seeds), start=1):
            campaign.add(found)
            campaign.progress(f"{number} of {len(seeds)} programs, {len(campaign.findings)} disagree")
            if found.agreed:
                yield each


def _again(campaign: FuzzCampaign, report: dict[str, Any]) -> None:
    low, high = report["operators"]
    campaign.operators = low, high
    if report["rtl"]:
        campaign.check_rtl(report["seeds"], report["fabric"])
    else:
        campaign.check(report["seeds"][0])


def _plain(campaign: FuzzCampaign, interrupted: bool) -> dict[str, Any]:
    return {
        "version": version(),
        "agreed": campaign.agreed,
        "agreed_rtl": campaign.agreed_rtl,
        "left_out_of_rtl": campaign.crowded,
        "operators": dict(sorted(campaign.kinds.items())),
        "tokens": campaign.tokens,
        "interrupted": interrupted,
        "findings": [each.to_json() for each in campaign.findings],
    }


def _texts(campaign: FuzzCampaign) -> Iterator[str]:
    yield (
        f"{campaign.agreed:,} programs agree, {campaign.agreed_rtl:,} of them in RTL too: "
        f"{campaign.kinds.total():,} operators of {len(campaign.kinds)} kinds, {campaign.tokens:,} tokens"
    )
    if campaign.crowded:
        yield f"left out of RTL, because their channels have too little space: seeds {_seeds(campaign.crowded)}"
    for each in campaign.findings:
        yield _line(each, campaign.save)
    if campaign.findings and campaign.save is None:
        talk("[cyan]hint:[/] with --save DIR they are kept, and made small")


def _seeds(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds))


def _line(finding: FuzzFinding, save: Path | None) -> str:
    kept = ""
    if save is not None:
        size = "" if finding.program is None else f" ({len(finding.program.graph.nodes)} operators)"
        kept = f"\n  {save / finding.name}.report.json{size}"
    return f"seed {_seeds(finding.seeds)}: {finding.kind}: {finding.text}{kept}"
