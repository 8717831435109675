"""``step fit``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from step.host.amounts import MEGAHERTZ, counted
from step.lowering.fabric import FABRIC, MHZ
from step_cli.console import show, table, timed
from step_cli.files import save_picture
from step_cli.options import Amount, Plot, ProgramAndInputs, Written, percent
from step_cli.verb import verb, worked
from step_explore.fitting.fitting import RUNS, Fitted, fit
from step_explore.fitting.trials import Choice

COLUMNS = ("LUT sites", "multipliers", "block RAMs", "cycles")


@verb
def command(
    *,
    program: ProgramAndInputs,
    within: Annotated[float | None, percent, "PERCENT", "Cycles that may be lost, as in 5%."],
    luts: Annotated[int | None, Amount(counted("LUT sites")), "The most LUT sites."],
    dsp: Annotated[int | None, Amount(counted("multipliers")), "The most multipliers."],
    ram: Annotated[int | None, Amount(counted("block RAMs")), "The most block RAMs."],
    cycles: Annotated[int | None, Amount(counted("cycles")), "The most cycles."],
    mhz: Annotated[float | None, Amount(MEGAHERTZ, 1), "Hops and stages until each unit alone has so many MHz (ECP5)."],
    runs: Annotated[int, "Choices to try beside the candidates."] = RUNS,
    energy: Annotated[bool, "The energy as well, by published figures; interprets the program."],
    save: Annotated[Written, "Write the fabric, for --fitted."],
    plot: Plot,
) -> None:
    """The least hardware within a loss of cycles, or the fewest cycles within an area: lanes, links, memories."""
    found = worked(fit, program=program.load())
    if save is not None:
        found.file().save(save)
    if plot is not None:
        save_picture(partial(_draw, found), (7, 4.5), plot)
    show(lambda: _plain(found, energy), _texts(found, energy), save, plot)


def _texts(found: Fitted, energy: bool) -> Iterator[str]:
    yield from found.registers
    title = f"{found.program.name}: {found.runs:,} choices have run"
    energies = [[f"{each:,.0f}"] for each in found.energies] if energy else [[], []]
    choices = zip(("asked for", "fitted"), (found.asked, found.best), energies, strict=True)
    rows = [(name, *_numbers(choice), *energy) for name, choice, energy in choices]
    yield table(title, ("", *COLUMNS, *(["energy pJ"] if energy else [])), rows)
    narrower = [each for each in found.given if each.narrower]
    kept = sum(len(each.names) for each in found.given) - sum(len(each.names) for each in narrower)
    if narrower:
        changes = (
            (each.title, _change(each.had_lanes, each.lanes), _change(each.had_link, each.link), each.why)
            for each in narrower
        )
        yield table(f"{kept} operators keep all", ("operator", "lanes", "link bytes", "why"), changes, names=("why",))
    for name, value in found.file().settings.items():
        if name.startswith(FABRIC) and name != FABRIC + MHZ:
            yield f"{name}={value} instead of {getattr(found.asked.fabric, name.removeprefix(FABRIC))}"
    for name, depth in found.best.depths.items():
        yield f"channel {name}: depth {depth} instead of {found.depths[name]}"
    yield table("front of area and cycles", COLUMNS, map(_numbers, found.front))
    yield from timed(found.best.cycles, found.fabric.seconds(found.best.cycles))


def _change(had: int, given: int) -> str:
    return f"{had} -> {given}" if given < had else str(had or "")


def _numbers(choice: Choice) -> tuple[int, ...]:
    area = choice.area.rounded()
    return (*(area[name] for name in ("lut_sites", "multipliers", "block_rams")), choice.cycles)


def _plain(found: Fitted, energy: bool) -> dict[str, Any]:
    def choice(each: Choice) -> dict[str, int]:
        return {**each.area.rounded(), "cycles": each.cycles}

    return {
        "program": found.program.name,
        "asked": choice(found.asked),
        "fitted": choice(found.best),
        "loss": found.loss,
        "time": found.fabric.seconds(found.best.cycles),
        "registers": found.registers,
        **({"picojoules": dict(zip(("asked", "fitted"), found.energies, strict=True))} if energy else {}),
        "settings": dict(found.file().settings),
        "depths": dict(found.best.depths),
        "given": [
            {"names": each.names, "lanes": each.lanes, "link_bytes": each.link, "why": each.why} for each in found.given
        ],
        "front": [choice(each) for each in found.front],
    }


def _draw(found: Fitted, figure: Any) -> None:
    """Cycles over LUT sites of the front, and what was asked for."""
    axes = figure.add_subplot(title=found.program.name, xlabel="LUT sites", ylabel="cycles")
    axes.step(*zip(*(each.cost for each in found.front), strict=True), where="post", marker="o", label="front")
    axes.scatter(*([each] for each in found.asked.cost), label="asked for", zorder=3)
    axes.scatter(*([each] for each in found.best.cost), label="fitted", zorder=3)
    axes.legend()
