"""Operators in the published simulator, one file each, found by its name.

Each module has ``process(site, context)``, which does what the artifact's operator does with local time and channels.
What `trait` asks for, a module may have beside that: yes or no, or a function of the node.

* ``PASSES``: what it passes on is where it was. ``COMPUTES``: it keeps a computed tile on chip.
* ``makes_turns``: it makes selectors, one target after the other. ``TAKES_TURNS``: it needs no stream for these.
* ``IS_DIMENSION``: it adds a dimension around all, which one before it that ``adds_dimension`` adds itself.
* ``repeats``: it repeats elements a number of times, and adds the dimension for that itself, which one before it
  ``makes_room`` for.

Lines of the artifact's documentation and of the paper's operator tables are restated beside the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from step.errors import FabricError
from step.host.extensions import find_module
from step.language.graph import Node


def module_of(node: Node) -> ModuleType:
    """The module for ``node``; raises `FabricError` for operators that the published simulator does not have."""
    module = find_module(__name__, node.operator.name)
    if module is None:
        raise FabricError(f"{node.describe()}: the published simulator has no operator {node.operator.name!r}")
    return module


def trait(node: Node, name: str) -> bool:
    """Whether the module for ``node`` says ``name`` of it."""
    said: bool | Callable[[Node], bool] = getattr(module_of(node), name, False)
    return said(node) if callable(said) else said
