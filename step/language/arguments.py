"""Calls that come from the user: arguments are checked where they come in, and errors tell the line of the call."""

from __future__ import annotations

import abc
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from step.errors import FormatError, ProgramError, TypeMismatch
from step.host.nearest import among
from step.language.location import line_of_user
from step.language.parameters import settled

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function, *, method: bool = False, refused: type[ProgramError] = TypeMismatch) -> Function:
    """``function`` for arguments of the types that its signature says (see `settled`).

    Raises ``refused`` for others, for those that it does not know, and for those that are missing. Every `TypeMismatch`
    that comes out of it begins with the line of the user that called it, unless that is in it.
    The first argument of a ``method``, and one called ``self``, is what it is a method of.
    """

    @tells_line
    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        own, signature, hints = _declared(function, method)
        what, arguments = function.__name__, given[own:]
        if text := unbound(signature, what, arguments, named):
            raise refused(text)
        bound = signature.bind(*arguments, **named)
        for name, value in bound.arguments.items():
            if name in hints and signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(settled(each, hints[name], name, refused, what) for each in value)
            elif name in hints:
                bound.arguments[name] = settled(value, hints[name], name, refused, what)
        return function(*given[:own], *bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]


def tells_line(function: Function) -> Function:
    """``function``: its errors begin with the line of the user that called it (see `checked`)."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except TypeMismatch as error:
            _tell_line(error, sys._getframe(1))
            raise

    return call  # type: ignore[return-value]


class Checked(type):
    """Classes that tell what is wrong with the arguments that one of them is made of.

    Raises ``refused``, by default `TypeMismatch`, for arguments that a class does not know, or that are missing. Every
    `TypeMismatch` and `FormatError` begins with the line of the user that makes it, unless that is in it.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *given: Any, **named: Any) -> Any:
            try:
                try:
                    return super().__call__(*given, **named)
                except TypeError:
                    if text := unbound(cls.__signature__, cls.__name__, given, named):
                        raise getattr(cls, "refused", TypeMismatch)(text) from None
                    raise
            except (TypeMismatch, FormatError) as error:
                _tell_line(error, sys._getframe(1))
                raise

        @property
        def __signature__(cls) -> inspect.Signature:
            whole = inspect.signature(cls.__init__)
            return whole.replace(parameters=[*whole.parameters.values()][1:], return_annotation=cls)


class CheckedABC(Checked, abc.ABCMeta):
    """The same for abstract classes."""


def unbound(signature: inspect.Signature, what: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """The mistake in a call of ``what``, which has this ``signature``; empty if there is none."""
    with suppress(TypeError):
        signature.bind(*given, **named)
        return ""
    parameters = [*signature.parameters.values()]
    by_name = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    for name in named:
        if name not in by_name:
            return f"{what} has no parameter {name!r}; {among(name, by_name)}"
        if name in by_place[: len(given)]:
            return f"{what} is given {name} twice"
    if len(given) > len(by_place) and not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        only = [name for name in by_name if name not in by_place]
        more = f"; {', '.join(only)} must be given by name" if only else ""
        count = f"{len(by_place)} argument{'s' if len(by_place) != 1 else ''}" if by_place else "no argument"
        return f"{what} takes {count} without a name, not {len(given)}{more}"
    needed = [name for name in by_name if signature.parameters[name].default is inspect.Parameter.empty]
    missing = [name for name in needed if name not in (*named, *by_place[: len(given)])]
    return f"{what} needs {' and '.join(missing)}, which must be given"


@cache
def _declared(function: Callable[..., Any], method: bool) -> tuple[int, inspect.Signature, dict[str, Any]]:
    """Number of arguments that a method belongs to, the signature of the others, and their types.

    What is an array is left to the function, as many things can be one.
    """
    whole = inspect.signature(function)
    own = int(method or next(iter(whole.parameters), "") in ("self", "cls"))
    signature = whole.replace(parameters=[*whole.parameters.values()][own:])
    hints = get_type_hints(function, include_extras=True)
    return own, signature, {name: hints[name] for name in signature.parameters if "ndarray" not in str(hints[name])}


def _tell_line(error: ProgramError, frame: FrameType) -> None:
    """Put the line that ``frame`` is at in front of ``error``, if it is of the user, and not in it."""
    line = line_of_user(frame)
    if line is not None and str(line) not in str(error):
        error.args = (f"{line}: {error}",)
