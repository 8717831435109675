"""The module of a floor for an operator or a function: it has the same name."""

from __future__ import annotations

from types import ModuleType

from step.errors import FabricError
from step.host.extensions import find_module
from step.language.function import Function
from step.language.graph import Node


def operator_module(package: str, node: Node) -> ModuleType:
    """The module that ``package`` (``hw.units``, ...) has for the operator of ``node``.

    Raises `FabricError`, with operator and source line, where there is none.
    """
    return _module(package, node.operator.name, node, f"the operator {node.operator.name!r}")


def family_module(package: str, node: Node, function: Function) -> ModuleType:
    """The module that ``package`` (``hw.functions``, ...) has for ``function``, which ``node`` applies.

    Raises `FabricError`, with operator and source line, where there is none.
    """
    return _module(package, function.family, node, f"the function {function.name!r}")


def _module(package: str, name: str, node: Node, what: str) -> ModuleType:
    module = find_module(package, name)
    if module is None:
        raise FabricError(
            f"{node.describe()}: {package} has nothing for {what}; it needs a file {name}.py there, "
            f"or an entry point {name!r} in the group {package!r}"
        )
    return module
