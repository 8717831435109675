"""``step fifos``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from step.errors import InputError
from step.host.amounts import PERCENT
from step.host.files import writing
from step.programs.folding import FEWEST, common, starred
from step_cli.console import show_json, show_rows, show_written, talk, working
from step_cli.options import READ, Amount, Count, Json, ProgramOptions, Read, Written
from step_cli.verb import call, verb
from step_explore.fifos.runs import DepthRun
from step_explore.fifos.shrink import LEAST
from step_explore.fifos.sizing import Sizing, size_fifos


@verb
def command(
    *,
    program: ProgramOptions,
    inputs: Annotated[
        tuple[Path, ...],
        READ,
        "Input data (.npz) instead of the program's own; repeat for several, for all of which the depths hold.",
    ],
    loss: Annotated[float | None, Amount(PERCENT), "PERCENT", "Cycles that --save may lose.  [default: 0]"],
    keep: Annotated[bool, "Save the least that keeps the cycles of the depths asked for."],
    least: Annotated[bool, "Save the depths that only do not deadlock."],
    save: Annotated[Written, "FILE", "Write depths to this file, which run, compare and verilog take as --binding."],
    begin: Annotated[Read, "--binding", "Depths to go on from, which an earlier search saved with --save."],
    bound: Annotated[bool, "Prove below which storage the program deadlocks, whatever the depths."],
    choices: Annotated[Count, "End after so many choices of depths.  [default: no limit]"],
    threads: Annotated[Count, "--jobs", "Runs at a time.  [default: one per core]"],
    as_json: Json,
) -> None:
    """Find how deep the FIFOs of a program have to be, by many runs on the fast model.

    The first line of the table are the depths asked for. `no loss` has the fewest cycles, `as fast` those of the depths
    asked for, and `least` only does not deadlock; others are between them. It holds for the data that ran.

    Ctrl-C shows, and saves, the best so far.
    """
    asked = [name for name, is_asked in (("loss", loss is not None), ("keep", keep), ("least", least)) if is_asked]
    if save is None and asked:
        raise InputError(f"--{asked[0]} has no effect without --save")
    if len(asked) > 1:
        raise InputError(f"--{asked[0]} has no effect with --{asked[1]}")
    with working() as progress:
        found = call(size_fifos, program=program.load(), progress=progress)
    if save is not None:
        with writing(save):
            chosen = found.least if least else found.kept if keep else found.within((loss or 0) / 100)
            found.binding(chosen).save(save)
    if as_json:
        show_json(_plain(found))
    else:
        _show(found)
        _show_room(found)
        _show_bound(found)
        click.echo(found.holds)
        show_written(save)
    if found.interrupted:
        talk(f"the best so far; {_going_on(save)}")
        raise KeyboardInterrupt


def _going_on(save: Path | None) -> str:
    if save is None:
        return "with --save FILE it is kept, and --binding FILE goes on from there"
    return f"to go on: --binding {save}"


def _plain(found: Sizing) -> dict[str, Any]:
    named = {"asked": found.asked, "kept": found.kept, "lossless": found.lossless, "least": found.least}
    return {
        "program": found.program.name,
        "data": list(found.data),
        "runs": found.runs,
        "interrupted": found.interrupted,
        "most_rows": dict(found.most_rows),
        "floor": found.floor,
        **{name: {**_cost(each), "depths": dict(each.depths)} for name, each in named.items()},
        "bound": found.bound and asdict(found.bound),
        "front": [{**_cost(each), "loss": each.loss(found.fewest)} for each in found.front],
    }


def _cost(each: DepthRun) -> dict[str, Any]:
    return {"bits": each.bits, "cycles": None if each.cycles is None else list(each.cycles)}


def _show(found: Sizing) -> None:
    title = (
        f"{found.program.name}: storage of {len(found.asked.depths):,} channels, from {found.runs:,} choices of depths"
    )
    headings = ["cycles"] if len(found.data) == 1 else [f"cycles {Path(str(name)).name}" for name in found.data]
    rows = []
    for name, each in (("asked for", found.asked), *((_name(found, each), each) for each in found.front)):
        loss = "deadlock" if each.cycles is None else f"{each.loss(found.fewest):.2%}"
        rows.append((name, each.bits, *(each.cycles or [None] * len(found.data)), loss))
    show_rows(title, ("", "bits", *headings, "loss"), rows)
    deep = [name for name, depth in found.lossless.depths.items() if max(depth, found.least.depths[name]) > LEAST]
    if not deep:
        click.echo(f"\na depth of {LEAST} is enough everywhere")
        return
    click.echo()
    equal: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for name in deep:
        depths = tuple(each.depths[name] for each in (found.asked, found.lossless, found.least))
        equal[starred(name), depths].append(name)
    folded = (
        (name, *depths)
        for (_, depths), names in equal.items()
        for name in (names if len(names) < FEWEST else [f"{common(names)} ({len(names):,} channels)"])
    )
    show_rows(f"channels that need more than {LEAST}", ("channel", "asked for", "no loss", "least"), folded)


def _show_room(found: Sizing) -> None:
    """Room for tiles of dynamic size."""
    if rows := sorted(found.most_rows.values()):
        room = f"{rows[0]:,}" if rows[0] == rows[-1] else f"{rows[0]:,} to {rows[-1]:,}"
        where = "an operator" if len(rows) == 1 else f"{len(rows):,} operators"
        click.echo(
            f"tiles of dynamic size that begin at {where}: room for {room} rows, instead of "
            f"{found.program.fabric.dynamic_rows:,}; a run with more fails"
        )


def _show_bound(found: Sizing) -> None:
    above = found.lossless.bits / found.floor - 1
    click.echo(f"no channels take less than {found.floor:,} bits; no loss takes {above:.2%} more")
    if found.bound is None:
        return
    bits, least = found.bound.bits, found.least.bits
    if bits == least:
        click.echo(f"bound: {bits:,} bits; there is nothing smaller that does not deadlock")
    else:
        click.echo(f"bound: {bits:,} bits, {1 - bits / least:.2%} below the least that was found; {found.bound.weak}")


def _name(found: Sizing, each: DepthRun) -> str:
    if each.depths == found.lossless.depths:
        return "no loss"
    named = {"as fast": found.kept, "least": found.least}
    return ", ".join(name for name, one in named.items() if each.depths == one.depths)
