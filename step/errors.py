"""Every error of the toolkit, as one tree.

::

    StepError                 anything that the toolkit reports (exit code 1 unless said otherwise)
    +-- ProgramError          the program is wrong, known before it runs
    |   +-- TypeMismatch      element types or shapes that do not fit an operator
    |   +-- GraphError          streams that nobody writes, undeclared cycles, names used twice
    |   +-- UnboundSymbol     a symbol without a value
    |   +-- FormatError       a program, trace or result file that can not be read
    |   +-- InputError        input data that does not fit the program, and arguments that can not be
    |   |   +-- UnknownName   a name that is not there; a `KeyError`, too
    |   +-- FabricError       a program that does not fit the fabric
    |   +-- UserCodeError     Python code of the user that raised something else
    +-- BuildError            Verilog or the simulator could not be built (exit code 2)
    +-- EnvironmentProblem    a tool is missing or too old (exit code 3)
    |   +-- RegistrationError two operators or functions of one name, or an installed one that can not be loaded
    |   +-- SettingError      an environment variable that can not be so
    +-- Defect                the toolkit itself is wrong (exit code 70)
    +-- SimulationError       the run failed (exit code 4)
        +-- StreamFault       tokens that break an operator's contract at run time
        +-- Deadlock          nothing can move any more
        +-- Runaway           the run passed its cycle limit
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

INTERRUPTED = 130
"""Exit code after Ctrl-C, SIGTERM, or a closed terminal."""


class StepError(Exception):
    """Base of all errors that the toolkit reports.

    ``exit_code`` is the exit code of the command line.

    >>> try:
    ...     step.run(program, "interpret", inputs={"x": [1, 2]})
    ... except step.StepError as error:
    ...     print(type(error).__name__, error.exit_code)
    InputError 1
    """

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Lines that a notebook shows, as the command line does, and the lines of cells and files that led here."""
        if shows_tracebacks() or isinstance(self, Defect):
            return "".join(traceback.format_exception(self)).splitlines()
        raised_at = import_module("step.language.location").raised_at  # of a later room
        lines = [f"  {place}, {text}" for place, text in raised_at(self) if str(place) not in str(self)]
        return [f"\x1b[1;31merror:\x1b[0m {self}", *getattr(self, "__notes__", []), *lines]


class ProgramError(StepError):
    """The program is wrong, and that is known before it runs."""


class TypeMismatch(ProgramError):
    """Element types, ranks or shapes do not fit an operator."""


class GraphError(ProgramError):
    """The graph is not well formed."""


class UnboundSymbol(ProgramError):
    """A symbol has no value where one is needed."""


class FormatError(ProgramError):
    """A file does not have the published format."""


class InputError(ProgramError):
    """Input data does not fit the program's declarations, or an argument is nothing that can be asked for."""


class UnknownName(InputError, KeyError):
    """Nothing is there under a name, of an output say. The message has the names that there are."""

    __str__ = Exception.__str__  # a `KeyError` would quote it


class FabricError(ProgramError):
    """The program can not be mapped to the fabric as configured."""


class UserCodeError(ProgramError):
    """Python code of the user raised something that is no `StepError`; its ``__cause__`` is that."""


class BuildError(StepError):
    """Verilog or the simulator could not be built."""

    exit_code = 2


class EnvironmentProblem(StepError):
    """A tool is missing or too old; ``step doctor`` tells more."""

    exit_code = 3


@contextmanager
def needing(what: str, extra: str = "sim") -> Iterator[None]:
    """Imports for ``what``: a module that is not installed, which the ``extra`` of this toolkit brings, is an error."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = f"install it with: pip install 'step-fabric[{extra}]'"
        raise EnvironmentProblem(f"{what} needs the module {error.name}; {install}") from None


class RegistrationError(EnvironmentProblem):
    """Two operators or functions have one name, or an entry point that should add one can not be loaded."""


class SettingError(EnvironmentProblem):
    """An environment variable has a value that it can not have."""


class Defect(StepError):
    """Something that should not happen did; its ``__cause__`` is what."""

    exit_code = 70


class SimulationError(StepError):
    """A run did not end as it should."""

    exit_code = 4
    result: Any = None
    """The run up to there: a `step.running.result.RunResult`, or None."""


class StreamFault(SimulationError):
    """Tokens broke the contract of an operator at run time."""


class Deadlock(SimulationError):
    """Nothing can move any more, and the program is not done."""


class Runaway(SimulationError):
    """The run passed its cycle limit."""


def shows_tracebacks() -> bool:
    """Whether the environment has ``STEP_TRACEBACK=1``: errors are shown with Python's whole traceback."""
    return os.environ.get("STEP_TRACEBACK", "0") not in ("", "0")


def expect(condition: object, message: str, error: Callable[[str], Exception] = TypeMismatch) -> None:
    """Raise ``error`` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise error(message)
