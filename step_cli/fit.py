"""``step fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from step.errors import InputError
from step.host.amounts import counted
from step.host.figures import FORMATS, drawn
from step.host.files import write_atomically, writing
from step.lowering.fabric import FABRIC
from step_cli.console import new_table, show_json, show_table, show_written, working
from step_cli.options import Amount, Given, json_option, percent, plot_option, program_options, writable
from step_explore.fitting.fitting import RUNS, Fitted, fit
from step_explore.fitting.trials import Choice

COLUMNS = ("LUT sites", "multipliers", "block RAMs", "cycles")


@click.command()
@program_options
@click.option("--within", metavar="PERCENT", help="Cycles that may be lost, as in 5%.")
@click.option("--luts", type=Amount(counted("LUT sites")), help="The most LUT sites.")
@click.option("--dsp", type=Amount(counted("multipliers")), help="The most multipliers.")
@click.option("--ram", type=Amount(counted("block RAMs")), help="The most block RAMs.")
@click.option("--cycles", type=Amount(counted("cycles")), help="The most cycles.")
@click.option("--runs", type=int, default=RUNS, show_default=True, help="Choices to try beside the candidates.")
@click.option("--energy", is_flag=True, help="The energy as well, by published figures; interprets the program.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the fabric, for --fitted.")
@plot_option
@json_option
def command(
    given: Given,
    within: str | None,
    luts: int | None,
    dsp: int | None,
    ram: int | None,
    cycles: int | None,
    runs: int,
    energy: bool,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """The least hardware within a loss of cycles, or the fewest cycles within an area: lanes, links, memories."""
    for path in (save, plot):
        if path is not None:
            writable(path)
    if plot is not None and plot.suffix not in FORMATS:
        raise InputError(f"a plot must go to a file that ends in {', '.join(FORMATS)}, not '{plot}'")
    with working() as progress:
        loss = None if within is None else percent(within)
        found = fit(
            given.program(), within=loss, luts=luts, dsp=dsp, ram=ram, cycles=cycles, runs=runs, progress=progress
        )
    if save is not None:
        found.file().save(save)
    if plot is not None:
        with writing(plot):
            write_atomically(plot, _plotted(found, plot.suffix[1:]))
    if as_json:
        show_json(_plain(found, energy))
        return
    _show(found, energy)
    show_written(save, plot)


def _show(found: Fitted, energy: bool) -> None:
    title = f"{found.program.name}: {found.runs:,} choices have run"
    table = new_table(title, "", *COLUMNS, *(["energy pJ"] if energy else []))
    energies = [f"{each:,.0f}" for each in found.energies] if energy else []
    for at, (name, choice) in enumerate((("asked for", found.asked), ("fitted", found.best))):
        table.add_row(name, *_numbers(choice), *energies[at : at + 1])
    show_table(table)
    narrower = [each for each in found.given if each.narrower]
    kept = sum(len(each.names) for each in found.given) - sum(len(each.names) for each in narrower)
    units = new_table(f"{kept} operators keep all", "operator", "lanes", "link bytes", "why", names=("why",))
    for unit in narrower:
        lanes, link = _change(unit.had_lanes, unit.lanes), _change(unit.had_link, unit.link)
        units.add_row(escape(unit.title), lanes, link, unit.why)
    if narrower:
        show_table(units)
    others = {n: v for n, v in found.file().settings.items() if n.startswith(FABRIC)}
    for name, value in others.items():
        click.echo(f"{name}={value} instead of {getattr(found.asked.fabric, name.removeprefix(FABRIC))}")
    for name, depth in found.best.depths.items():
        click.echo(f"channel {name}: depth {depth} instead of {found.depths[name]}")
    front = new_table("front of area and cycles", *COLUMNS)
    for point in found.front:
        front.add_row(*_numbers(point))
    show_table(front)


def _change(had: int, given: int) -> str:
    return f"{had} -> {given}" if given < had else str(had or "")


def _numbers(choice: Choice) -> tuple[str, ...]:
    area = choice.area.rounded()
    return (*(f"{area[name]:,}" for name in ("lut_sites", "multipliers", "block_rams")), f"{choice.cycles:,}")


def _plain(found: Fitted, energy: bool) -> dict[str, Any]:
    def choice(each: Choice) -> dict[str, int]:
        return {**each.area.rounded(), "cycles": each.cycles}

    picojoules = dict(zip(("asked", "fitted"), found.energies, strict=True)) if energy else None

    return {
        "program": found.program.name,
        "asked": choice(found.asked),
        "fitted": choice(found.best),
        "loss": found.loss,
        **({"picojoules": picojoules} if energy else {}),
        "settings": dict(found.file().settings),
        "depths": dict(found.best.depths),
        "given": [
            {"names": each.names, "lanes": each.lanes, "link_bytes": each.link, "why": each.why} for each in found.given
        ],
        "front": [choice(each) for each in found.front],
    }


def _plotted(found: Fitted, form: str) -> bytes:
    """Cycles over LUT sites of the front, and what was asked for."""

    def draw(figure: Any) -> None:
        axes = figure.add_subplot(title=found.program.name, xlabel="LUT sites", ylabel="cycles")
        axes.step(*zip(*(each.cost for each in found.front), strict=True), where="post", marker="o", label="front")
        axes.scatter(*([each] for each in found.asked.cost), label="asked for", zorder=3)
        axes.scatter(*([each] for each in found.best.cost), label="fitted", zorder=3)
        axes.legend()

    return drawn(draw, (7, 4.5), form)
