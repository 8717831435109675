"""Arguments and options that several verbs share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from step.cli.console import warn
from step.errors import FormatError, InputError
from step.host.files import write_atomically, writing
from step.host.floors import from_floor
from step.lowering.fabric import with_settings
from step.programs.files.depths import DepthBinding
from step.programs.program import Program, load_program

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
explain_option = click.option("--explain", is_flag=True, help="Say where the cycles went (see step explain).")
inputs_option = click.option(
    "--inputs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Input data (.npz) instead of the program's own.",
)
settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A fabric parameter, such as stages=2, memory=hbm2 or memory.channels=4.",
)
calibration_option = click.option(
    "--calibration",
    type=click.Path(path_type=Path, dir_okay=False),
    help="How long functions take in the fast model, as `step calibrate` measured it.",
)


binding_option = click.option(
    "--binding",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Depths of channels from this file, which `step fifos --save` wrote.",
)


def program_options(function: Command) -> Command:
    """The PROGRAM argument, ``--inputs`` and ``--set``; pass all three to `open_program`."""
    return click.argument("program")(inputs_option(settings_option(function)))


def explainer(as_json: bool) -> Callable[[Program, int | None], None]:
    """Who shows where the cycles went, for `explain_option`; raises `InputError` where it would not be seen."""
    if as_json:
        raise InputError("--explain has no effect with --json; step explain --json has it as data")
    return from_floor("step.explanations", "path", "--explain")


def writable(path: Path) -> None:
    """Raises `InputError` where ``path`` can not be written: told before the work, not after it."""
    with writing(path):
        pass


def save_json(path: Path, data: Any) -> None:
    """Write plain data to ``path``."""
    with writing(path):
        write_atomically(path, (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())


def open_program(spec: str, inputs: Path | None, settings: tuple[str, ...], binding: Path | None = None) -> Program:
    """The program with the fabric parameters of ``settings`` and the depths of ``binding``."""
    program = load_program(spec, inputs)
    program.fabric = with_settings(program.fabric, settings)
    return program if binding is None else bound(program, binding)


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
        values[name] = int(text)
    return values
