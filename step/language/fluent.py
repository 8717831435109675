"""Operators, and what is made of them, as methods of streams and graphs; a file adds its own, none is listed here.

Type checkers and editors read ``fluent.pyi`` instead, which ``PYTHONPATH=tests python -m tables`` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

from step.host.extensions import load_until, modules_of, register
from step.host.nearest import among
from step.language.arguments import Checked, checked

HOMES = ("step.ops", "step.library")
"""Packages whose files add methods."""


class _Loading(Checked):
    """Classes that know all of their operators when somebody lists them, as ``help`` does."""

    def __dir__(cls) -> list[str]:
        _load_homes()
        return list(super().__dir__())


class Fluent(metaclass=_Loading):
    """Base of what has operators for methods; ``noun`` is what errors call it."""

    noun: ClassVar[str]
    methods: ClassVar[dict[str, Callable[..., Any]]]

    @classmethod
    def add_method(cls, function: Callable[..., Any]) -> None:
        """Make ``function(self, ...)`` callable as ``self.function(...)``."""
        method = checked(function, method=True)
        register(cls.methods, function.__name__, method, f"the method of a {cls.noun}")
        setattr(cls, function.__name__, method)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """An operator that nobody has loaded yet."""
        if not name.startswith("_"):
            for home in HOMES:
                load_until(self.methods, name, home)
        if name not in self.methods:
            there = "" if name.startswith("_") else _elsewhere(name)
            raise AttributeError(f"a {self.noun} has no operator {name!r}{there}; {among(name, sorted(self.methods))}")
        return self.methods[name].__get__(self)

    def __dir__(self) -> list[str]:
        _load_homes()
        return list(super().__dir__())


def _elsewhere(name: str) -> str:
    """The advice to use a function, or a part of a program, that is called like the operator ``name``."""
    capitalized = "".join(word.capitalize() for word in name.split("_"))
    for home, exported in (("step.functions", capitalized), ("step.library", name)):
        if exported in import_module(home).__all__:
            return f", but there is {home}.{exported}"
    return ""


def _load_homes() -> None:
    for home in HOMES:
        modules_of(home)


class StreamMethods(Fluent):
    """Operators whose first argument is a stream."""

    noun = "stream"
    methods: ClassVar[dict[str, Callable[..., Any]]] = {}


class GraphMethods(Fluent):
    """Operators whose first argument is a graph."""

    noun = "graph"
    methods: ClassVar[dict[str, Callable[..., Any]]] = {}
