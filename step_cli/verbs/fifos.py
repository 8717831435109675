"""``step fifos``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from step.errors import InputError
from step.host.amounts import PERCENT
from step.host.files import writing
from step.programs.folding import FEWEST, common, starred
from step_cli.console import show, table, talk
from step_cli.options import READ, Amount, Count, ProgramOptions, Read, Written
from step_cli.verb import verb, worked
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
    save: Annotated[Written, "Write depths to this file, which run, compare and verilog take as --binding."],
    begin: Annotated[Read, "--binding", "Depths to go on from, which an earlier search saved with --save."],
    bound: Annotated[bool, "Prove below which storage the program deadlocks, whatever the depths."],
    choices: Annotated[Count, "End after so many choices of depths.  [default: no limit]"],
    threads: Annotated[Count, "--jobs", "Runs at a time.  [default: one per core]"],
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
    found = worked(size_fifos, program=program.load())
    if save is not None:
        with writing(save):
            chosen = found.least if least else found.kept if keep else found.within((loss or 0) / 100)
            found.binding(chosen).save(save)
    show(_plain(found), _texts(found), save)
    if found.interrupted:
        keep_it = "with --save FILE it is kept, and --binding FILE goes on from there"
        talk(f"the best so far; {keep_it if save is None else f'to go on: --binding {save}'}")
        raise KeyboardInterrupt


def _plain(found: Sizing) -> dict[str, Any]:
    named = {"asked": found.asked, "kept": found.kept, "lossless": found.lossless, "least": found.least}
    return {
        "program": found.program.name,
        "data": found.data,
        "runs": found.runs,
        "interrupted": found.interrupted,
        "most_rows": dict(found.most_rows),
        "floor": found.floor,
        **{name: {"bits": of.bits, "cycles": of.cycles, "depths": dict(of.depths)} for name, of in named.items()},
        "bound": found.bound and asdict(found.bound),
        "front": [{"bits": of.bits, "cycles": of.cycles, "loss": of.loss(found.fewest)} for of in found.front],
    }


def _texts(found: Sizing) -> Iterator[str]:
    title = (
        f"{found.program.name}: storage of {len(found.asked.depths):,} channels, from {found.runs:,} choices of depths"
    )
    headings = ["cycles"] if len(found.data) == 1 else [f"cycles {Path(str(name)).name}" for name in found.data]
    rows = []
    for name, each in (("asked for", found.asked), *((_name(found, each), each) for each in found.front)):
        loss = "deadlock" if each.cycles is None else f"{each.loss(found.fewest):.2%}"
        rows.append((name, each.bits, *(each.cycles or [None] * len(found.data)), loss))
    yield table(title, ("", "bits", *headings, "loss"), rows)
    yield ""
    yield _deep_channels(found)
    if most := sorted(found.most_rows.values()):
        room = f"{most[0]:,}" if most[0] == most[-1] else f"{most[0]:,} to {most[-1]:,}"
        where = "an operator" if len(most) == 1 else f"{len(most):,} operators"
        yield (
            f"tiles of dynamic size that begin at {where}: room for {room} rows, instead of "
            f"{found.program.fabric.dynamic_rows:,}; a run with more fails"
        )
    above = found.lossless.bits / found.floor - 1
    yield f"no channels take less than {found.floor:,} bits; no loss takes {above:.2%} more"
    if bound := found.bound:
        below = f", {1 - bound.bits / found.least.bits:.2%} below the least that was found; {bound.weak}"
        exact = "; there is nothing smaller that does not deadlock"
        yield f"bound: {bound.bits:,} bits{exact if bound.bits == found.least.bits else below}"
    yield found.holds


def _name(found: Sizing, each: DepthRun) -> str:
    if each.depths == found.lossless.depths:
        return "no loss"
    named = {"as fast": found.kept, "least": found.least}
    return ", ".join(name for name, one in named.items() if each.depths == one.depths)


def _deep_channels(found: Sizing) -> str:
    equal: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for name in found.asked.depths:
        depths = tuple(each.depths[name] for each in (found.asked, found.lossless, found.least))
        if max(depths[1:]) > LEAST:
            equal[starred(name), depths].append(name)
    if not equal:
        return f"a depth of {LEAST} is enough everywhere"
    folded = (
        (name, *depths)
        for (_, depths), names in equal.items()
        for name in (names if len(names) < FEWEST else [f"{common(names)} ({len(names):,} channels)"])
    )
    return table(f"channels that need more than {LEAST}", ("channel", "asked for", "no loss", "least"), folded)
