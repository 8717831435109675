"""``step run``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import numpy as np

from step.errors import InputError, SimulationError
from step.host.figures import check_picture
from step.host.files import writing
from step.host.nearest import did_you_mean
from step.lowering.netlist import Netlist
from step.programs.folding import folded, members
from step.programs.prepare import prepare
from step.programs.program import Program
from step.running.backend import Run, able, runner
from step.running.expectation import deviation
from step.running.result import RunResult
from step.running.waiting import awaited
from step_cli.backends import SizedBackend, check_takes, sized
from step_cli.console import as_json, share, show, table, timed, warn, working
from step_cli.files import writable
from step_cli.options import FILE, Binding, Count, Explain, ProgramAndInputs, Written, explainer
from step_cli.verb import is_given, verb
from step_show.plot.pictures import PLOTS, draw

NEEDED = {
    **{name: name for name in ("engine", "jump", "max_cycles", "events", "waves")},
    **{"check": "outputs", "all": "timed", "explain": "timed", "plot": "timed", "binding": "timed"},
}
"""Options that have an effect only with some back ends, and what these must take, or have."""


def _pictures(texts: Iterable[str]) -> dict[Path, str]:
    """The names of `PLOTS` by file, of ``NAME=FILE``; raises `InputError` for others, and as `check_picture`."""
    pictures = dict[Path, str]()
    for text in texts:
        name, _, file = text.partition("=")
        if name not in PLOTS or not file:
            hint = "" if name in PLOTS else did_you_mean(name, PLOTS)
            raise InputError(f"--plot must be NAME=FILE, not {text!r}; {hint}there are {', '.join(PLOTS)}")
        check_picture(Path(file))
        pictures[writable(Path(file))] = name
    return pictures


@verb
def command(
    *,
    program: ProgramAndInputs,
    binding: Binding,
    backend: SizedBackend,
    engine: Annotated[
        Literal["compiled", "python"] | None, "Engine of the fast model (default: the fastest there is)."
    ],
    jump: Annotated[bool | None, "Count the repetitions of regular phases of approx (default)."],
    max_cycles: Annotated[Count, "Stop a timed run there."],
    events: Annotated[bool, "Keep the cycle of every token (with --json or --save)."],
    waves: Annotated[Path | None, FILE, "Waves of an RTL run (.vcd or .fst)."],
    save: Annotated[Written, "Write the result to this file, as JSON."],
    plot: Annotated[
        dict[Path, str],
        _pictures,
        "NAME=FILE",
        f"Draw a picture of the run (.svg, .png or .pdf); NAME is one of {', '.join(PLOTS)}. Repeat for several.",
    ],
    all: Annotated[bool, "A row for every operator, also of those that are alike."],
    check: Annotated[bool, "Fail unless the outputs are what the program expects."],
    explain: Explain,
) -> None:
    """Run a program: interpret it, time it with the fast model, simulate its RTL, or time it as published.

    The table begins with what limits the run, the operators that are busiest: in cycles, and of the run the percentage
    in which each was busy, starved (a token that it needs was not there) and blocked (there was no space for what it
    would send), and the operator that it waited for. Of operators that are alike it has the busiest one.
    """
    for name in filter(is_given, NEEDED):
        option = "--no-jump" if name == "jump" and not jump else f"--{name.replace('_', '-')}"
        check_takes(backend or "rtl", NEEDED[name], f"{option} has no effect")
    show_path = explainer() if explain else None
    if events and not (save or as_json()):
        raise InputError("--events has no effect without --json or --save")
    opened = program.load(binding)
    if check and not opened.expected:
        raise InputError("--check needs expected outputs, but the program has none for this data")
    prepared = prepare(opened)
    warn(prepared.doubts)
    if backend is None:
        backend = "rtl" if check or waves else sized(prepared.netlist)
    values = "all" if check and backend in able("values") else None
    options = {"engine": engine, "jump": jump, "max_cycles": max_cycles, "waves": waves, "values": values}
    failure: SimulationError | None = None
    with working() as progress:
        try:
            result = runner(backend, {**options, "events": events or None}, progress)(prepared)
            for path, picture in plot.items():
                progress(f"drawing {path}")
                draw(picture, Run(opened, result), path)
        except SimulationError as error:
            if error.result is None:
                raise
            failure, result = error, error.result
    if result.engine_reason is not None:
        warn([f"the Python engine ran, which is slower: {result.engine_reason}"])
    if save is not None:
        with writing(save):
            result.save(save)
    causes = show_path(opened, max_cycles) if show_path else ()
    texts = () if failure else chain(_texts(result, prepared.netlist, all), causes)
    show(result.to_json, texts, save, waves, *(() if failure else plot))
    if failure is not None:
        raise failure
    if check:
        line = _checked(opened, result)
        if not as_json():
            click.echo(line)


def _checked(program: Program, result: RunResult) -> str:
    """A line that says that the outputs are as expected; raises `SimulationError` where they are not."""
    found = deviation(program, result.outputs or {})
    assert found is not None
    if not found.close:
        raise SimulationError(f"{found.first}; the tolerance is {found.tolerance:.2%} of the largest one expected")
    names = ", ".join(program.expected)
    return f"ok: {names} as expected, within {found.relative:.2%} (tolerance {found.tolerance:.2%})"


def _texts(result: RunResult, netlist: Netlist, everything: bool) -> Iterator[str]:
    """The run as a table per operator, the busiest first, and its outputs in short."""
    if result.operators:
        yield _operators(result, awaited(netlist, result), {} if everything else folded(netlist.graph))
    yield from timed(result.cycles, netlist.fabric.seconds(result.cycles))
    if result.traffic:
        moved = [sum(getattr(each, way) for each in result.traffic.values()) for way in ("read_bytes", "written_bytes")]
        yield "off-chip traffic: {:,} bytes read, {:,} written".format(*moved)
    if result.buffers:
        most = ", ".join(f"{name} {size:,}" for name, size in result.buffers.items())
        yield f"on-chip memory: {result.buffer_bytes:,} bytes at most, {most}"
    for name, tokens in (result.outputs or {}).items():
        values = [token.value for token in tokens if token.has_value]
        yield f"{name}: {len(values)} elements, the first one {_in_short(values)}"


def _operators(result: RunResult, waits: dict[str, str], parts: Mapping[str, str]) -> str:
    """A row for every operator, or for the busiest one of each of the ``parts``."""
    engine = "" if result.engine is None else f" ({result.engine} engine)"
    jumped = f", {result.jumped_cycles:,} of them jumped over" if result.jumped_cycles else ""
    title = f"{result.program} on {result.backend}{engine}: {result.cycles:,} cycles{jumped}"
    if len(set(parts.values())) < len(parts):
        title += "; of operators that are alike the busiest (--all: each)"
    ordered, rows = sorted(result.operators, key=lambda name: -result.operators[name].busy), []
    for part, names in members({name: parts.get(name, name) for name in ordered}).items():
        each = result.operators[names[0]]
        shares = [share(cycles, result.cycles) for cycles in (each.busy, each.starved, each.blocked)]
        shown = part if len(names) == 1 else f"{part}, {len(names)} of them"
        rows.append((shown, each.busy, *shares, waits.get(names[0])))
    return table(title, ("operator", "busy", "of run", "starved", "blocked", "waits for"), rows, names=("waits for",))


def _in_short(values: list[Any]) -> str:
    if values and isinstance(values[0], np.ndarray):
        return np.array2string(np.asarray(values[0], dtype=float), precision=4, threshold=8)
    return str(values[:1])
