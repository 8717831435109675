"""Arguments and options that several verbs share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from step.errors import FabricError, InputError
from step.host.files import check_writable, write_atomically
from step.host.floors import from_floor
from step.host.nearest import did_you_mean
from step.lowering.dram import preset
from step.lowering.fabric import FabricConfig
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
    help="A fabric parameter, such as tile=8, memory=hbm2 or memory.channels=4.",
)


def program_options(function: Command) -> Command:
    """The PROGRAM argument, ``--inputs`` and ``--set``; pass all three to `open_program`."""
    return click.argument("program")(inputs_option(settings_option(function)))


def explainer(as_json: bool) -> Callable[[Program, int | None], None]:
    """Who shows where the cycles went, for `explain_option`; raises `InputError` where it would not be seen."""
    if as_json:
        raise InputError("--explain has no effect with --json; step explain --json has it as data")
    return from_floor("step.explanations", "path", "--explain")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes the directory that ``path`` is in; what keeps it from being written, now or then, is an `InputError`."""
    try:
        check_writable(path)
        yield
    except OSError as error:
        raise InputError(f"{path} can not be written: {error.strerror}") from None


def writable(path: Path) -> None:
    """Raises `InputError` where ``path`` can not be written: told before the work, not after it."""
    with writing(path):
        pass


def save_json(path: Path, data: Any) -> None:
    """Write plain data to ``path``."""
    with writing(path):
        write_atomically(path, (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())


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
        if name == "memory":
            data["memory"] |= asdict(preset(text))
            continue
        *groups, leaf = name.split(".")
        target: Any = data
        for group in groups:
            target = target.get(group) if isinstance(target, dict) else None
        if not isinstance(target, dict) or target.get(leaf) is None or isinstance(target[leaf], dict):
            known = [*_names(data), "memory"]
            raise FabricError(f"fabric has no parameter {name!r}; {did_you_mean(name, known)}it has {', '.join(known)}")
        target[leaf] = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text
    return FabricConfig.from_json(data)


def _names(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The parameters that there are; those of a group come behind the others."""
    yield from (f"{prefix}{key}" for key, value in data.items() if not isinstance(value, dict) and value is not None)
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{key}.")


def parse_bindings(bindings: tuple[str, ...]) -> dict[str, int]:
    """``NAME=VALUE`` pairs as integers >= 0; raises `InputError` for others."""
    values = {}
    for binding in bindings:
        name, equals, text = binding.partition("=")
        if not equals or not re.fullmatch(r"[0-9]{1,30}", text):
            raise InputError(f"a binding must be NAME=VALUE with an integer >= 0, not {binding!r}")
        values[name] = int(text)
    return values
