"""Arguments and options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from step.errors import FabricError, FormatError, InputError
from step.host.amounts import PERCENT, Quantity
from step.host.files import write_atomically, writing
from step.host.installing import installing
from step.host.paths import named_file
from step.lowering.fabric import FABRIC, FabricConfig, is_of_fabric, with_settings
from step.lowering.settings import check_settings, in_effect
from step.programs.files.depths import DepthBinding
from step.programs.files.fitted import FittedFile
from step.programs.files.json_file import json_bytes
from step.programs.program import Program, load_program
from step_cli.console import warn
from step_explore.sweeps.axis import Value, parse_value

Command = TypeVar("Command", bound=Callable[..., Any])
Found = TypeVar("Found")

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
explain_option = click.option("--explain", is_flag=True, help="Say where the cycles went (see step explain).")
inputs_option = click.option(
    "--inputs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Input data (.npz) instead of the program's own.",
)


def _once(context: click.Context, option: click.Parameter, settings: tuple[str, ...]) -> tuple[str, ...]:
    """``settings``, each of which has an effect."""
    check_settings(settings)
    return settings


settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_once,
    metavar="NAME=VALUE",
    help="A parameter of the fabric, such as fabric.stages=2, memory=hbm2 or memory.channels=4.",
)
fitted_option = click.option(
    "--fitted",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The fabric in this file, which `step fit --save` wrote; --set goes before it.",
)
arguments_option = click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument of the program's function, such as rows=16; values are written as those of step sweep.",
)
rows_option = click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the rows in this file (.csv or .parquet), and do not run again what it has.",
)
best_option = click.option(
    "--best",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=lambda context, option, path: path and named_file(path, "a program", ".json"),
    help="Write the best program with its fabric there (.json).",
)
plot_option = click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the front (.svg, .png or .pdf)."
)
per_option = click.option(
    "--per",
    metavar="NAME,NAME,...",
    help="Parameters that say how much there is to do, such as batch: each of their values has a front of its own.",
)
tokens_option = click.option(
    "--tokens", metavar="NAME", help="The parameter that is the number of tokens, for cycles_per_token."
)
jobs_option = click.option("--jobs", type=click.IntRange(min=1), help="Processes.  [default: one per core]")
scheduler_option = click.option(
    "--scheduler", metavar="ADDRESS", help="Run on the workers of this Dask scheduler, not here."
)
binding_option = click.option(
    "--binding",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Depths of channels from this file, which `step fifos --save` wrote.",
)

folder_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory to write."
)
style_option = click.option(
    "--style",
    type=click.Choice(["fpga", "asic"]),
    default="fpga",
    show_default=True,
    help="Whether registers have a value at power-on (fpga), or only from reset (asic).",
)


@dataclass(frozen=True)
class Given:
    """A program as the command line names it: PROGRAM, ``--inputs``, ``--arg`` and ``--set``."""

    spec: str
    inputs: Path | None = None
    arguments: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    fitted: Path | None = None

    def program(self, binding: Path | None = None) -> Program:
        """The program, on its fabric, with the depths of ``binding``."""
        program = on_fabric(
            load_program(self.spec, self.inputs, parse_arguments(self.arguments)), self.fitted, self.settings
        )
        return program if binding is None else bound(program, binding)

    def fitting(self, over: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
        """The settings of the fitted fabric, if there is one, which none of ``--set`` and of the names ``over`` which
        a sweep goes replaces, and then those of ``--set``; and its depths."""
        if self.fitted is None:
            return self.settings, {}
        program = load_program(self.spec, self.inputs, parse_arguments(self.arguments))
        found, depths = _read_fitted(self.fitted, lambda file: (tuple(file.of_program(program)), dict(file.depths)))
        return (*in_effect(found, (*self.settings, *over)), *self.settings), depths


def on_fabric(program: Program, fitted: Path | None, settings: tuple[str, ...]) -> Program:
    """``program`` on the fabric, and with the depths, of a file of ``step fit``, if there is one, and then with
    ``settings``."""
    if fitted is not None:
        program = _read_fitted(fitted, lambda file: file.applied(program))
    return replace(program, fabric=set_fabric(program.fabric, settings))


def _read_fitted(path: Path, take: Callable[[FittedFile], Found]) -> Found:
    """What ``take`` makes of the file at ``path``; raises `FormatError` with its name."""
    try:
        return take(FittedFile.load(path))
    except FormatError as error:
        raise error if str(error).startswith(str(path)) else FormatError(f"{path}: {error}") from None


def program_options(function: Command) -> Command:
    """The PROGRAM argument, ``--inputs``, ``--arg`` and ``--set``, of which ``function`` gets a `Given`."""
    return inputs_option(given_options(function))


def given_options(function: Command) -> Command:
    """As `program_options`, without ``--inputs``."""

    @wraps(function)
    def command(
        program: str,
        arguments: tuple[str, ...],
        settings: tuple[str, ...],
        fitted: Path | None,
        inputs: Path | None = None,
        **others: Any,
    ) -> Any:
        check_kept({"PROGRAM": Path(program.partition(":")[0]), "--inputs": inputs})
        return function(given=Given(program, inputs, arguments, settings, fitted), **others)

    return click.argument("program")(arguments_option(settings_option(fitted_option(command))))  # type: ignore[return-value]


def check_kept(read: Mapping[str, Path | None]) -> None:
    """Raises `InputError` where a file that the verb is to ``read`` is also that of an option, which may write it."""
    context = click.get_current_context()
    there = {what: path for what, path in read.items() if path is not None and path.is_file()}
    for option in context.command.params:
        path, name = context.params.get(option.name or ""), option.opts[-1]
        if not isinstance(path, Path) or not path.is_file():
            continue
        for what in (what for what, other in there.items() if what != name and path.samefile(other)):
            raise InputError(f"{path} can not be both {what} and {name}: choose another file for one of them")


def explainer(as_json: bool) -> Callable[[Program, int | None], None]:
    """Who shows where the cycles went, for `explain_option`; raises `InputError` where it would not be seen."""
    if as_json:
        raise InputError("--explain has no effect with --json; step explain --json has it as data")
    from step_cli.explain_tables import show_path_of

    return show_path_of


def writable(path: Path) -> None:
    """Raises `InputError` where ``path`` can not be written: told before the work, not after it."""
    with writing(path):
        pass


@contextmanager
def writing_folder(output: Path, last: str) -> Iterator[Path]:
    """`installing`; what keeps ``output`` from being written is an `InputError`."""
    with writing(output / last if output.is_dir() else output), installing(output, last=last) as staged:
        yield staged


def save_json(path: Path, data: Any) -> None:
    """Write plain data to ``path``."""
    with writing(path):
        write_atomically(path, json_bytes(data))


def set_fabric(fabric: FabricConfig, settings: tuple[str, ...]) -> FabricConfig:
    """``fabric`` with the ``settings`` of the command line; names without ``fabric.`` do, with a hint."""
    try:
        made = with_settings(fabric, settings)
    except FabricError as error:
        if unlike := re.match(r"fabric has no parameter '(\w+)'; it has", str(error)):
            error.add_note(f"  an argument of the program's function is written --arg {unlike[1]}=VALUE")
        raise
    short = [each for each in settings if not is_of_fabric(each.partition("=")[0])]
    warn(f"--set {each} is understood as --set {FABRIC}{each}" for each in short)
    return made


def parse_arguments(arguments: tuple[str, ...]) -> dict[str, Value]:
    """``NAME=VALUE`` pairs, values as `axis.parse_value` reads them; raises `InputError` for others."""
    values = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name or not text:
            raise InputError(f"an argument must be NAME=VALUE, not {argument!r}")
        if name in values:
            raise InputError(f"the argument {name} is given twice")
        values[name] = parse_value(text)
    return values


def bound(program: Program, binding: Path) -> Program:
    """``program`` with the depths of ``binding``, and warnings where they were found for something else."""
    depths = DepthBinding.load(binding)
    try:
        made = depths.applied(program)
    except FormatError as error:
        raise FormatError(f"{binding}: {error}") from None
    warn(f"{binding}: {doubt}" for doubt in depths.doubts(program))
    return made


def parse_bindings(bindings: tuple[str, ...]) -> dict[str, int]:
    """``NAME=VALUE`` pairs as integers >= 0; raises `InputError` for others."""
    values = {}
    for binding in bindings:
        name, equals, text = binding.partition("=")
        if not equals or not re.fullmatch(r"[0-9]{1,30}", text):
            raise InputError(f"a binding must be NAME=VALUE with an integer >= 0, not {binding!r}")
        if name in values:
            raise InputError(f"the symbol {name} is given twice")
        values[name] = int(text)
    return values


def percent(text: str) -> float:
    """``5%`` or ``5`` as a part; raises `InputError` for other texts."""
    return PERCENT.amount(text, "--within") / 100


class Amount(click.ParamType):
    """An option that is an amount of a ``unit``, such as ``300k``, at least ``least``."""

    def __init__(self, unit: Quantity, least: float = 0) -> None:
        self._unit, self._least, self.name = unit, least, "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a click error for what is none."""
        if not isinstance(value, str):
            return float(value)
        what = "it" if param is None else param.opts[-1]
        found = self._unit.amount(value, what)
        if found < self._least:
            raise InputError(f"{what} must be at least {self._least:g}, not {value!r}")
        return found if self._unit.of else float(found)
