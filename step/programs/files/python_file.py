"""Programs written in Python: the user's file is run, and what goes wrong in it is told as the user's."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from step.errors import FormatError, InputError, ProgramError, StepError, UserCodeError, expect
from step.host.nearest import among
from step.language.location import raised_at, where_raised
from step.language.parameters import fits, plain


def made_by(path: Path, function: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """The result of ``function`` of the Python file ``path``, called with ``arguments``; what it prints goes to stderr.

    Raises `FormatError` where there is no such function, `InputError` for arguments that it does not take, and
    `UserCodeError` with the lines of the user's files for whatever these raise. A `StepError` that they raise passes
    on, a `ProgramError` with a note of the line unless it names it.
    """
    name = f"step_program_{path.stem}"
    module_spec = importlib.util.spec_from_file_location(name, path)
    assert module_spec is not None and module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        with _of_the_user(f"{path}"), redirect_stdout(sys.stderr):
            module_spec.loader.exec_module(module)
        maker = getattr(module, function, None)
        if not callable(maker):
            known = [key for key, each in vars(module).items() if inspect.isfunction(each) and each.__module__ == name]
            raise FormatError(f"{path} has no function {function!r}; {among(function, known)}")
        return call(f"{path}:{function}", maker, arguments or {})
    finally:
        sys.path.pop(0)


def call(what: str, maker: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """The result of the user's function ``maker``, which errors call ``what``; what it prints goes to stderr.

    Raises as `made_by`.
    """
    _check_arguments(what, maker, arguments)
    with _of_the_user(what), redirect_stdout(sys.stderr):
        return maker(**arguments)


def _check_arguments(what: str, maker: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise `InputError` for the first of ``arguments`` that ``maker`` does not take by name, or not with its value."""
    parameters = inspect.signature(maker).parameters.values() if arguments else ()
    for each in parameters:
        if each.name in arguments:
            _check_value(what, each, arguments[each.name])
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    for name in arguments:
        has = among(name, known) if known else f"it has none, as def program({name}=..) has"
        expect(name in known, f"{what} has no parameter {name!r}; {has}", InputError)


_VALUES = {"bool": ("true or false", bool), "int": ("an integer", int), "float": ("a number", int | float)}


def _check_value(what: str, parameter: inspect.Parameter, value: Any) -> None:
    """Raise `InputError` where ``parameter`` is a truth value or a number, as declared or by its default, and ``value``
    is not: a text would be true, whatever it says."""
    kind = parameter.annotation
    if kind is parameter.empty:
        kind = float if type(parameter.default) is int else type(parameter.default)
    wanted, hint = _VALUES.get(getattr(kind, "__name__", str(kind)), ("", Any))
    expect(fits(plain(value), hint), f"{what} needs {parameter.name} to be {wanted}, not {value!r}", InputError)


@contextmanager
def _of_the_user(what: str) -> Iterator[None]:
    """An exception inside of it becomes an error in ``what``; an interruption stays one."""
    try:
        yield
    except ProgramError as error:
        lines = raised_at(error)
        if lines and str(lines[-1][0]) not in str(error):
            error.add_note("  {}, {}".format(*lines[-1]))
        raise
    except StepError:
        raise
    except SystemExit as error:
        raise UserCodeError(f"{what} ends Python (exit code {error.code or 0}){where_raised(error)}") from error
    except Exception as error:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UserCodeError(f"{what}: {type(error).__name__}{': ' * bool(text)}{text}{where_raised(error)}") from error
