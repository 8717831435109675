"""What operators do in the published simulator, one file per operator, found by its name.

Each module has ``process(site, context)``, which does what the artifact's operator does with local time and channels.
Lines of the artifact's documentation and of the paper's operator tables are restated beside the rules.
"""

from __future__ import annotations

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
