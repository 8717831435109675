"""How an operator declares its firing rule, for all who read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from step.firing.machine import Machine
from step.host.extensions import find_module
from step.language.graph import Node


@dataclass(frozen=True)
class Declared:
    """The ``machine`` that is the whole unit of a node, with its ``parameters``, and its ``latency`` in cycles.

    A firing that computes occupies the unit while the words of a value pass. Parameters are integers, tuples of
    integers, values, and functions of values.
    """

    machine: type[Machine]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latency: int = 0

    @property
    def functions(self) -> list[str]:
        """The parameters that are functions of values."""
        return [name for name, value in self.parameters.items() if callable(value)]


def declared_rule(node: Node) -> Declared | None:
    """What ``node`` fires by, if its operator declares that in `step.rules`."""
    module = find_module("step.rules", node.operator.name)
    if module is None:
        return None
    found: Declared = module.rule(node)
    return found
