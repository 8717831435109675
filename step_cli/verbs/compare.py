"""``step compare``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from rich.markup import escape

from step.errors import FormatError, InputError, SimulationError, StepError, expect
from step.programs.files.json_file import format_of
from step.programs.prepare import prepare
from step.programs.program import Program, load_program, load_programs
from step.running.backend import backend
from step_cli.console import as_json, both, show, show_written, table, talk, warn, working
from step_cli.files import save_json
from step_cli.options import (
    FILE,
    Arguments,
    Binding,
    Count,
    Explain,
    Fitted,
    Inputs,
    Scheduler,
    Settings,
    Written,
    bound,
    explainer,
    on_fabric,
)
from step_cli.verb import Note, call, verb
from step_explore.sweeps.axis import Value

if TYPE_CHECKING:
    from cosim.comparing.compare import Comparison
    from step_cli.elsewhere import Task


@verb
def command(
    *,
    programs: Annotated[tuple[str, ...], Note.ARGUMENT, Note.REQUIRED],
    inputs: Inputs,
    arguments: Arguments,
    settings: Settings,
    fitted: Fitted,
    binding: Binding,
    max_cycles: Annotated[Count, "Stop both timed runs there."],
    waves: Annotated[Path | None, FILE, "Waves of the RTL (.vcd or .fst)."],
    save: Annotated[Written, "Write what was found to this file."],
    all: Annotated[bool, "Show every operator, not only those that differ."],
    no_operators: Annotated[bool, "Show no operators."],
    explain: Explain,
    jobs: Annotated[Count, "Processes, for several programs.  [default: one]"],
    scheduler: Scheduler,
) -> None:
    """Run programs on RTL, fast model and interpreter, and compare cycles, token times and outputs.

    Several PROGRAMs, lists of them, and patterns such as 'examples/*.py' may be given. --inputs, --waves and --binding
    need one, without --jobs and --scheduler.
    """
    backend("rtl")  # says what to install where a module is missing
    from cosim.comparing.compare import compared as compared_program
    from step_cli.elsewhere import Elsewhere

    show_path = explainer() if explain else None
    elsewhere = jobs is not None or scheduler is not None
    opened = _open(programs, arguments, {"--inputs": inputs, "--waves": waves, "--binding": binding}, elsewhere)
    compared: dict[Task, Comparison] = {}
    failure: StepError | None = None
    try:
        with working() as progress:
            for task, each in opened.items():
                program = opened[task] = on_fabric(each, fitted, settings)
                if binding is not None:
                    program = bound(program, binding)
                prepared = prepare(program)
                warn(prepared.doubts)
                if not elsewhere:
                    compared[task] = call(compared_program, program=program, prepared=prepared, progress=progress)
            if elsewhere:
                compared, failure = call(Elsewhere).compared(list(opened), jobs, scheduler, progress)
    except StepError as error:
        failure = error  # what was compared before is shown first
    found = list(compared.values())
    plain = [each.to_json() for each in found]
    if save is not None:
        save_json(save, {"format": format_of("comparison"), "comparisons": plain, "error": failure and str(failure)})
    paths = [show_path(opened[task], max_cycles) for task in compared] if show_path else []
    if found:
        show(plain, chain(_tables(found, all, no_operators), *paths), save, waves)
    else:
        show_written(save)
    if failure is not None:
        raise failure
    _judge(found)
    if not as_json():
        click.echo(f"ok: RTL, fast model and interpreter agree on {len(found):,} program{'s' * (len(found) != 1)}")


def _open(
    specs: tuple[str, ...], arguments: dict[str, Value], of_one: dict[str, Path | None], elsewhere: bool
) -> dict[Task, Program]:
    """All programs, before the first of them is built; options ``of_one`` want no other."""
    given = [option for option, value in of_one.items() if value is not None]
    if elsewhere and given:
        raise InputError(f"{given[0]} needs one program, and --jobs and --scheduler are for several")
    inputs = of_one["--inputs"]
    if inputs is not None and len(specs) == 1:
        return {(0, specs[0], 0): load_program(specs[0], inputs, arguments)}
    opened = {
        (place, spec, number): program
        for place, spec in enumerate(specs)
        for number, program in enumerate(load_programs(spec, arguments))
    }
    expect(opened, f"there is no program in {', '.join(specs)}", FormatError)
    if given and len(opened) != 1:
        raise InputError(f"{given[0]} needs one program, but there are {len(opened)}")
    return opened


def _judge(found: list[Comparison]) -> None:
    """Raises `SimulationError` where a comparison did not pass."""
    apart = [each.program for each in found if not each.agreed]
    expect(not apart, f"the back ends disagree on {', '.join(apart)}", SimulationError)
    wrong = [each.program for each in found if not each.passed]
    if wrong:
        raise SimulationError(
            f"the back ends agree, but the outputs of {', '.join(wrong)} are not what the program expects"
        )


def _tables(found: list[Comparison], everything: bool, no_operators: bool) -> Iterator[str]:
    for each in () if no_operators else found:
        yield _of_operators(each, everything)
        yield ""
    summary, speeds = list[Iterable[object]](), list[Iterable[object]]()
    for each in found:
        moved = (sum(getattr(one, name).bytes for one in each.traffic) for name in ("exact", "approximate"))
        cycles = both(each.exact_cycles, each.approximate_cycles), f"{each.error:.2%}"
        equal = "equal" if each.outputs_equal else "DIFFER"
        deviation = None if each.deviation is None else f"{each.deviation:.2%}"
        summary.append((each.program, *cycles, each.tokens, each.mismatches, both(*moved), equal, deviation))
        rates = f"{each.rtl_cycles_per_second:,.0f}", f"{each.approx_tokens_per_second:,.0f}", f"{each.speedup:.1f}x"
        speeds.append((each.program, f"{each.build_seconds:.0f}", *rates))
    headings = "program", "cycles", "error", "tokens", "off time", "off-chip bytes", "outputs", "float64"
    yield table("RTL | fast model where it differs", headings, summary)
    yield ""
    yield table("Speed", ("program", "build s", "RTL cycles/s", "model tokens/s", "model is faster by"), speeds)
    for each in found:
        for line in each.complaints:
            talk(f"[yellow]{escape(each.program)}:[/] {escape(line)}")


def _of_operators(found: Comparison, everything: bool) -> str:
    """A row for each operator that is not the same in both, or for all."""
    activities, rows = ("busy", "starved", "blocked"), []
    for each in found.operators:
        pairs = [(getattr(each.exact, name), getattr(each.approximate, name)) for name in activities]
        if everything or each.mismatches or any(exact != approximate for exact, approximate in pairs):
            rows.append((each.name, *(both(*pair) for pair in pairs), f"{each.error:.2%}", each.mismatches))
    same = f"{len(found.operators) - len(rows)} operators have the same cycles in RTL and fast model (--all)"
    if not rows:
        return f"{found.program}: {same}"
    title = f"{found.program}: cycles per operator, RTL | fast model where it differs"
    text = table(title, ("operator", *activities, "error", "off time"), rows)
    return text if everything else f"{text}\n{same}"
