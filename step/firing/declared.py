"""The declaration of an operator's firing rule, for all who read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from step.firing.applied import Applied
from step.firing.machine import Machine
from step.host.extensions import find_module
from step.language.graph import Node

TILED, MOST_ROWS = "the inputs with tiles of dynamic size", "the most rows of such a tile that begins here, or 0"
"""Parameters that follow from what passes: nobody may read the values of a stream."""


@dataclass(frozen=True)
class Declared:
    """The ``machine`` that is the whole unit of a node, with its ``parameters``, and its ``latency`` in cycles.

    A firing that computes occupies the unit while the words of a value pass. Parameters are integers, tuples of
    integers or of pairs of them, values, functions of values, `TILED` and `MOST_ROWS`. One that is `Applied` says how
    long a firing takes. A ``latency`` that is there for values alone is a function of the bytes of a link, and of the
    rows that tiles of dynamic size have.
    """

    machine: type[Machine]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latency: int | Callable[[int, int], int] = 0

    def cycles(self, link_bytes: int, rows: int, *, carries: bool) -> int:
        """The latency on links of ``link_bytes``, with so many ``rows``; ``carries``: somebody reads what goes out."""
        if isinstance(self.latency, int):
            return self.latency
        return self.latency(link_bytes, rows) if carries else 0

    @property
    def applied(self) -> Applied | None:
        """The function with a datapath, if there is one."""
        return next((each for each in self.parameters.values() if isinstance(each, Applied)), None)

    def given(self, tiled: tuple[int, ...], most_rows: int) -> dict[str, Any]:
        """The parameters, where `TILED` and `MOST_ROWS` are these."""
        known = {id(TILED): tiled, id(MOST_ROWS): most_rows}
        return {name: known.get(id(each), each) for name, each in self.parameters.items()}


def declared_rule(node: Node) -> Declared | None:
    """The rule that ``node`` fires by, if its operator declares that in `step.rules`."""
    module = find_module("step.rules", node.operator.name)
    if module is None:
        return None
    return module.rule(node)
