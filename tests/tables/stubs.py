"""``PYTHONPATH=tests python -m tables``: tells editors and type checkers what operators and functions there are.

These register themselves when Python runs, which a type checker does not do: it reads the stubs that this writes.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from step import functions, ops
from step.host.extensions import modules_of
from step.language import fluent
from step.language.fluent import HOMES, Fluent, GraphMethods, StreamMethods

_FLUENT = '''\
"""Operators as methods, for editors and type checkers. Written by ``python -m tables``; do not edit."""

from collections.abc import Callable
from typing import Any, ClassVar
{imports}

HOMES: tuple[str, ...]

class Fluent:
    noun: ClassVar[str]
    methods: ClassVar[dict[str, Callable[..., Any]]]
    @classmethod
    def add_method(cls, function: Callable[..., Any]) -> None: ...

'''
_EXPORTS = '''\
"""Exports, for editors and type checkers. Written by ``python -m tables``; do not edit."""

{imports}
'''


def stubs() -> dict[Path, Callable[[], str]]:
    """What makes the text of every stub; needs ruff, which sorts their imports and lays them out."""
    made = {Path(str(each.__file__)): partial(_exports, each) for each in (functions, ops)}
    texts: dict[Path, Callable[[], str]] = {**made, Path(fluent.__file__): _fluent}
    return {path.with_suffix(".pyi"): partial(_laid_out, make) for path, make in texts.items()}


def _laid_out(make: Callable[[], str]) -> str:
    text = make()
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "stub.pyi", "-"]
        text = subprocess.run(
            ruff, cwd=Path(__file__).parents[2], input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


def _exports(package: ModuleType) -> str:
    """Every class that ``package`` has collected from its files."""
    lines = [f"from {getattr(package, name).__module__} import {name} as {name}" for name in package.__all__]
    return _EXPORTS.format(imports="\n".join(lines))


def _fluent() -> str:
    methods = {owner: [_method(each) for each in _functions(owner)] for owner in (StreamMethods, GraphMethods)}
    imports = {line for owner in methods for each in _functions(owner) for line in _imports(each)}
    text = _FLUENT.format(imports="\n".join(sorted(imports)))
    for owner, found in methods.items():
        text += f"class {owner.__name__}(Fluent):\n"
        text += textwrap.indent("".join(f"{ast.unparse(each)}\n" for each in found), "    ") + "\n"
    return text


def _functions(owner: type[Fluent]) -> Iterator[Callable[..., Any]]:
    """The methods that are built in, by name."""
    for home in HOMES:
        modules_of(home)
    homes = tuple(f"{home}." for home in HOMES)
    return (each for _, each in sorted(owner.methods.items()) if each.__module__.startswith(homes))


def _method(function: Callable[..., Any]) -> ast.FunctionDef:
    """The head of ``function`` as a method, with its docstring."""
    (tree,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(tree, ast.FunctionDef)
    tree.args.args[0] = ast.arg("self")
    tree.decorator_list, tree.body = [], [tree.body[0]]
    return tree


def _imports(function: Callable[..., Any]) -> Iterator[str]:
    """The lines that import the types in the signature of ``function``."""
    module = inspect.getmodule(function)
    for each in ast.walk(_method(function)):
        if isinstance(each, ast.Name) and hasattr(module, each.id):
            home = getattr(getattr(module, each.id), "__module__", "")
            found = home if hasattr(sys.modules.get(home), each.id) else function.__module__
            yield f"from {found} import {each.id}"
