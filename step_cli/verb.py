"""A verb from a function: its parameters are the arguments and options of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from step_cli.console import working
from step_cli.files import check_kept

Made = TypeVar("Made")

POSITIVE, NATURAL = click.IntRange(min=1), click.IntRange(min=0)


class Note(Enum):
    """Notes on parameters: one without dashes, and one that has to be given though there may be several."""

    ARGUMENT = "argument"
    REQUIRED = "required"


@dataclass(frozen=True)
class Default:
    """A note: what an option is made of that is not given."""

    text: str


class Verb(click.Command):
    """A command that refuses an option that is there twice, of which click takes the last one.

    Options of which there may be several, and flags that can not be taken back, may be there twice.
    """

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        _, _, given = self.make_parser(context).parse_args(list(arguments))
        for place, each in enumerate(given):
            if not isinstance(each, click.Option) or each.multiple or (each.is_flag and not each.secondary_opts):
                continue
            if each in given[:place]:
                raise click.UsageError(f"{each.opts[-1]} is given twice", context)
        return super().parse_args(context, arguments)


def verb(function: Callable[..., None], kind: type[click.Command] = Verb, *, json: bool = True, **settings: Any) -> Any:
    """``function`` as a command, with its docstring as help, and unless ``json`` is False with the option ``--json``,
    which `step_cli.console.show` reads.

    A parameter is an option of its name, and its default that of the option. Without one, ``T | None`` is None, a bool
    False, and a ``tuple[T, ...]`` or dict, which may be repeated, empty; all others must be given. ``Annotated`` has
    notes on it, in any order: other spellings ("-o"), what stands for the value (in capitals: "NAME=VALUE"), the help,
    a type of click, a `Note`, a `Default`, and a function that makes the value of what was given. A
    dataclass is a group: each of its fields is an option, those of subclasses first.

    >>> @verb
    ... def command(*, jobs: Annotated[int | None, POSITIVE, "Processes."]) -> None:
    ...     print(f"with {jobs} processes")
    """
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    groups = {each.name: hints[each.name] for each in parameters if is_dataclass(hints[each.name])}
    options = list[click.Parameter]()
    for each in parameters:
        group = groups.get(each.name)
        options += [_option(each.name, hints[each.name], each.default)] if group is None else _grouped(group)
    options += [click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON.")] if json else []

    def run(**values: Any) -> None:
        check_kept(click.get_current_context())
        values.pop("as_json", None)
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group) if each.init})
        function(**values)

    return kind(function.__name__, params=options, callback=run, help=inspect.getdoc(function), **settings)


def call(function: Callable[..., Made], **others: Any) -> Made:
    """Call ``function`` with ``others`` and those options of the verb that it has parameters for."""
    return function(**{**options_for(function), **others})


def worked(function: Callable[..., Made], **others: Any) -> Made:
    """`call` of a ``function`` that tells its progress, which stderr shows."""
    with working() as progress:
        return call(function, progress=progress, **others)


def options_for(function: Callable[..., Any]) -> dict[str, Any]:
    """The options of the running verb that ``function`` has parameters for, without those that are not given."""
    values = click.get_current_context().params
    return {name: values[name] for name in inspect.signature(function).parameters if values.get(name) is not None}


def is_given(option: str) -> bool:
    """Whether the user of the running verb gave the ``option``."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _grouped(group: Any) -> Iterator[click.Parameter]:
    """An option for each field of the dataclass ``group``."""
    hints, known = get_type_hints(group, include_extras=True), {each.name for each in fields(group) if each.init}
    names = dict.fromkeys(name for kind in group.__mro__ for name in inspect.get_annotations(kind) if name in known)
    return (_option(name, hints[name], getattr(group, name, inspect.Parameter.empty)) for name in names)


def _option(name: str, hint: Any, default: Any) -> click.Parameter:
    """The argument or option called ``name``, of the type ``hint`` with its notes (see `verb`)."""
    kind, notes = _parted(hint)
    texts = [each for each in notes if isinstance(each, str)]
    convert = next(filter(_is_converter, notes), None)
    optional = None in notes
    several = not optional and (get_origin(kind) is dict or get_args(kind)[1:] == (...,))
    default = next((each.text for each in notes if isinstance(each, Default)), default)
    bare = default is inspect.Parameter.empty
    required = Note.REQUIRED in notes or (bare and not (several or optional or kind is bool))
    common: dict[str, Any] = {
        "required": required,
        "callback": convert and (lambda context, option, value: value if value is None else convert(value)),
        "metavar": next((each for each in texts if each.isupper()), None),
    }
    if Note.ARGUMENT in notes:
        return click.Argument([name], type=_type(kind, notes), nargs=-1 if several else 1, **common)
    flags = [each for each in texts if each.startswith("-")] or [f"--{name.replace('_', '-')}"]
    if kind is bool:
        if both := optional or default is True:
            flags = [f"{each}/--no-{each.removeprefix('--')}" for each in flags]
        common |= {"is_flag": True, "default": None if optional else default is True} if both else {"is_flag": True}
    else:
        common |= {"type": _type(kind, notes), "multiple": several} | ({} if bare else {"default": default})
    said = next((each for each in texts if not each.isupper() and not each.startswith("-")), None)
    return click.Option([*flags, name], help=said, show_default=not (bare or kind is bool), **common)


def _parted(hint: Any) -> tuple[Any, list[Any]]:
    """The bare type of ``hint``, and the notes on it, with None where it may be that."""
    if get_origin(hint) is Annotated:
        kind, notes = _parted(hint.__origin__)
        return kind, [*notes, *hint.__metadata__]
    if get_origin(hint) in (Union, UnionType):
        (some,) = (each for each in get_args(hint) if each is not NoneType)
        kind, notes = _parted(some)
        return kind, [*notes, None]
    return hint, []


def _type(kind: Any, notes: list[Any]) -> Any:
    """The type that click reads texts as."""
    if types := [each for each in notes if isinstance(each, click.ParamType)]:
        return types[0]
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is Path:
        return click.Path(path_type=Path)
    return kind if kind in (int, float) and not any(map(_is_converter, notes)) else str


def _is_converter(note: Any) -> bool:
    return callable(note) and not isinstance(note, click.ParamType)
