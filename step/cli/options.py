"""Arguments and options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from step.errors import FabricError, InputError
from step.host.files import check_writable
from step.lowering.fabric import FabricConfig
from step.programs.program import Program, load_program

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def program_options(function: Command) -> Command:
    """The PROGRAM argument, ``--inputs`` and ``--set``; pass all three to `open_program`."""
    function = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A fabric parameter, such as tile=8 or memory.channels=4.",
    )(function)
    function = click.option(
        "--inputs",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Input data (.npz) instead of the program's own.",
    )(function)
    return click.argument("program")(function)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes the directory that ``path`` is in; what keeps it from being written, now or then, is an `InputError`."""
    try:
        check_writable(path)
        yield
    except OSError as error:
        raise InputError(f"{path} can not be written: {error.strerror}") from None


def open_program(spec: str, inputs: Path | None, settings: tuple[str, ...]) -> Program:
    """The program with the fabric parameters of ``settings``."""
    program = load_program(spec, inputs)
    program.fabric = with_settings(program.fabric, settings)
    return program


def with_settings(fabric: FabricConfig, settings: tuple[str, ...]) -> FabricConfig:
    """``fabric`` with some parameters replaced; raises `FabricError` for unknown names and bad values."""
    data = fabric.to_json()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise FabricError(f"a fabric parameter must be NAME=VALUE, not {setting!r}")
        group, _, leaf = name.rpartition(".")
        target = data.get(group) if group else data
        if not isinstance(target, dict) or leaf not in target or isinstance(target[leaf], dict):
            known = [*(key for key in data if key != "memory"), *(f"memory.{key}" for key in data["memory"])]
            raise FabricError(f"fabric has no parameter {name!r}; it has {', '.join(known)}")
        target[leaf] = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text
    return FabricConfig.from_json(data)


def parse_bindings(bindings: tuple[str, ...]) -> dict[str, int]:
    """``NAME=VALUE`` pairs as integers >= 0; raises `InputError` for others."""
    values = {}
    for binding in bindings:
        name, equals, text = binding.partition("=")
        if not equals or not re.fullmatch(r"[0-9]{1,30}", text):
            raise InputError(f"a binding must be NAME=VALUE with an integer >= 0, not {binding!r}")
        values[name] = int(text)
    return values
