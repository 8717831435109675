"""Arguments and options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from step.errors import FabricError, FormatError, InputError, expect
from step.host.amounts import PERCENT, Quantity
from step.host.figures import check_picture
from step.host.pairs import Fits, pairs
from step.host.paths import named_file
from step.lowering.fabric import FABRIC, FabricConfig, is_of_fabric, with_settings
from step.lowering.settings import check_settings, in_effect
from step.programs.files.depths import DepthBinding
from step.programs.files.fitted import FittedFile
from step.programs.program import Program, load_program
from step_cli.console import as_json, warn
from step_cli.files import writable
from step_cli.verb import NATURAL, POSITIVE, Note, is_given
from step_explore.sweeps.axis import SWEEP, Value, parse_axis, parse_value


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
        expect(found >= self._least, f"{what} must be at least {self._least:g}, not {value!r}", InputError)
        return found if self._unit.of else float(found)


def parse_arguments(texts: Iterable[str]) -> dict[str, Value]:
    """``NAME=VALUE`` pairs, values as `axis.parse_value` reads them; raises `InputError` for others."""
    values = pairs(texts, "an argument must be NAME=VALUE", "the argument {} is given twice")
    return {name: parse_value(text) for name, text in values.items()}


def parse_bindings(texts: Iterable[str]) -> dict[str, int]:
    """``NAME=VALUE`` pairs as integers >= 0; raises `InputError` for others."""
    must = "a binding must be NAME=VALUE with an integer >= 0"
    values = pairs(texts, must, "the symbol {} is given twice", re.compile(r"[0-9]{1,30}").fullmatch)
    return {name: int(text) for name, text in values.items()}


def parse_axes(
    texts: Iterable[str], twice: str = "{} is swept over twice", stays: Fits | None = None
) -> dict[str, Any]:
    """Values by name, of texts that `axis.parse_axis` reads; a text that ``stays`` one is not read."""
    return {
        name: values if stays and stays(values) else parse_axis(f"{name}={values}").values
        for name, values in pairs(texts, SWEEP, twice).items()
    }


def percent(text: str) -> float:
    """``5%`` or ``5`` as a part; raises `InputError` for other texts."""
    return PERCENT.amount(text, "--within") / 100


def parted(text: str) -> list[str]:
    """The names in ``a,b,c``."""
    return text.split(",")


def _settings(texts: tuple[str, ...]) -> tuple[str, ...]:
    """``texts``, each of which has an effect."""
    check_settings(texts)
    return texts


def _picture(path: Path) -> Path:
    """``path``, to which a picture can go; raises as `check_picture` and `writable`."""
    check_picture(path)
    return writable(path)


READ = click.Path(path_type=Path, exists=True, dir_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

Read = Annotated[Path | None, READ]
Written = Annotated[Path | None, FILE, writable]
Count = Annotated[int | None, POSITIVE]
ProgramName = Annotated[str, Note.ARGUMENT]
Inputs = Annotated[Read, "Input data (.npz) instead of the program's own."]
Arguments = Annotated[
    dict[str, Value],
    parse_arguments,
    "--arg",
    "NAME=VALUE",
    "An argument of the program's function, such as rows=16; values are written as those of step sweep.",
]
Settings = Annotated[
    tuple[str, ...],
    _settings,
    "--set",
    "NAME=VALUE",
    "A parameter of the fabric, such as fabric.stages=2, memory=hbm2 or memory.channels=4.",
]
Fitted = Annotated[Read, "The fabric in this file, which `step fit --save` wrote; --set goes before it."]
Binding = Annotated[Read, "Depths of channels from this file, which `step fifos --save` wrote."]
Bindings = Annotated[dict[str, int], parse_bindings, "--bind", "NAME=VALUE"]

Best = Annotated[
    Path | None,
    FILE,
    lambda path: writable(named_file(path, "a program", ".json")),
    "Write the best program with its fabric there (.json).",
]
Picture = Annotated[Path | None, FILE, _picture]
FRONT = "Draw the front (.svg, .png or .pdf)."
Plot = Annotated[Picture, FRONT]
Names = Annotated[list[str], parted, "NAME,NAME,..."]
Scheduler = Annotated[str | None, "ADDRESS", "Run on the workers of this Dask scheduler, not here."]
Folder = Annotated[Path, FOLDER, "-o", "--output", "Directory to write."]
Style = Annotated[
    Literal["fpga", "asic"], "Whether registers have a value at power-on (fpga), or only from reset (asic)."
]
Explain = Annotated[bool, "Say where the cycles went (see step explain)."]


@dataclass(frozen=True, kw_only=True)
class PointOptions:
    """Points that run: which of them, where, and what becomes of their rows."""

    search: Annotated[Count, "N", "Not all points: N that a search chooses."]
    seed: Annotated[int, NATURAL, "That of the search."] = 0
    per: Annotated[
        list[str] | None,
        parted,
        "NAME,NAME,...",
        "Parameters that say how much there is to do, such as batch: each of their values has a front of its own.",
    ]
    tokens: Annotated[str | None, "NAME", "The parameter that is the number of tokens, for cycles_per_token."]
    save: Annotated[
        Path | None, FILE, "Keep the rows in this file (.csv or .parquet), and do not run again what it has."
    ]
    plot: Annotated[Written, FRONT]
    jobs: Annotated[Count, "Processes.  [default: one per core]"]
    scheduler: Scheduler

    def __post_init__(self) -> None:
        """Raises `InputError` for what has no effect."""
        if is_given("seed") and self.search is None:
            raise InputError("--seed has no effect without --search")
        if self.jobs is not None and self.scheduler is not None:
            raise InputError("--jobs has no effect with --scheduler, whose workers run the points")


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """A program as the command line names it: PROGRAM, ``--arg``, ``--set`` and ``--fitted``."""

    program: ProgramName
    arguments: Arguments
    settings: Settings
    fitted: Fitted
    inputs: Path | None = field(default=None, init=False)

    def load(self, binding: Path | None = None) -> Program:
        """The program, on its fabric, with the depths of ``binding``."""
        program = on_fabric(self._loaded(), self.fitted, self.settings)
        return program if binding is None else bound(program, binding)

    def fitting(self, over: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
        """The settings of the fitted fabric, if there is one, which none of ``--set`` and of the names ``over`` which
        a sweep goes replaces, and then those of ``--set``; and its depths."""
        if self.fitted is None:
            return self.settings, {}
        program = self._loaded()
        with _named(self.fitted):
            file = FittedFile.load(self.fitted)
            found = tuple(file.of_program(program))
        return (*in_effect(found, (*self.settings, *over)), *self.settings), dict(file.depths)

    def _loaded(self) -> Program:
        return load_program(self.program, self.inputs, self.arguments)


@dataclass(frozen=True, kw_only=True)
class ProgramAndInputs(ProgramOptions):
    """The same, and ``--inputs``."""

    inputs: Inputs = None


def on_fabric(program: Program, fitted: Path | None, settings: tuple[str, ...]) -> Program:
    """``program`` on the fabric, and with the depths, of a file of ``step fit``, if there is one, and then with
    ``settings``."""
    if fitted is not None:
        with _named(fitted):
            program = FittedFile.load(fitted).applied(program)
    return replace(program, fabric=set_fabric(program.fabric, settings))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Context of reading the file at ``path``: a `FormatError` has its name."""
    try:
        yield
    except FormatError as error:
        raise error if str(error).startswith(str(path)) else FormatError(f"{path}: {error}") from None


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


def bound(program: Program, binding: Path) -> Program:
    """``program`` with the depths of ``binding``, and warnings where they were found for something else."""
    with _named(binding):
        depths = DepthBinding.load(binding)
        made = depths.applied(program)
    warn(f"{binding}: {doubt}" for doubt in depths.doubts(program))
    return made


def explainer() -> Callable[[Program, int | None], Iterator[str]]:
    """The function behind ``--explain``; raises `InputError` where what it shows would not be seen."""
    if as_json():
        raise InputError("--explain has no effect with --json; step explain --json has it as data")
    from step_cli.explain_tables import path_of

    return path_of
