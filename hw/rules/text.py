"""The text of a rule, and what is said where no hardware can be made of it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, NoReturn

from step.errors import FabricError
from step.firing.machine import Machine


class HardwareError(FabricError):
    """A rule of which no hardware can be made: file, line, what it says and what would be right."""


class Text:
    """The source of ``machine``'s rule: the ``body``, what its names mean (``scope``), and its ``fields``."""

    def __init__(self, machine: type[Machine]) -> None:
        lines, self._first = inspect.getsourcelines(machine.fire)
        self._file = inspect.getsourcefile(machine.fire) or "?"
        (function,) = ast.parse(textwrap.dedent("".join(lines))).body
        assert isinstance(function, ast.FunctionDef)
        self.body = function.body
        self.scope: dict[str, Any] = machine.fire.__globals__
        self.fields: dict[str, Field[Any]] = {each.name: each for each in fields(machine)}
        self.constants = {each.value for each in ast.walk(function) if isinstance(each, ast.Constant)}
        stored = [each for each in ast.walk(function) if isinstance(each, ast.Attribute)]
        self.changed = {each.attr: each for each in stored if isinstance(each.ctx, ast.Store)}

    def initial(self, word: str) -> Any:
        """What a state word begins with."""
        default = self.fields[word].default
        return None if default is MISSING else default

    def refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        """Raise `HardwareError` about ``node``."""
        line = self._first + getattr(node, "lineno", 1) - 1
        raise HardwareError(f"{self._file}:{line}: no hardware can be made of {what}; {hint}")


@cache
def text_of(machine: type[Machine]) -> Text:
    """The source of ``machine``'s rule."""
    return Text(machine)
