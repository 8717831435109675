"""Programs written in Python: the user's file is run, and what goes wrong in it is told as the user's."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from step.errors import FormatError, ProgramError, StepError, UserCodeError
from step.host.nearest import did_you_mean
from step.language.location import raised_at, where_raised


def made_by(path: Path, function: str) -> Any:
    """What ``function`` of the Python file ``path`` returns; what the file prints goes to stderr.

    Raises `FormatError` where there is no such function, and `UserCodeError` with the lines of the user's files for
    whatever these raise. A `StepError` that they raise passes on, a `ProgramError` with a
    note of the line unless it names it.
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
            hint = did_you_mean(function, known)
            raise FormatError(f"{path} has no function {function!r}; {hint}it has {', '.join(known) or 'none'}")
        with _of_the_user(f"{path}:{function}"), redirect_stdout(sys.stderr):
            return maker()
    finally:
        sys.path.pop(0)


@contextmanager
def _of_the_user(what: str) -> Iterator[None]:
    """What is raised inside of it is an error in ``what``, but for an interruption."""
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
