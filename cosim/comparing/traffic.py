"""Off-chip traffic: in RTL, in the fast model, and by the symbolic metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from step.language.symbols import evaluate
from step.lowering.netlist import Netlist
from step.running.result import RunResult, TrafficResult


@dataclass(frozen=True)
class TrafficComparison:
    """Bytes that the operator ``name`` moved; ``symbolic``: the bytes that its metric says."""

    name: str
    exact: TrafficResult
    approximate: TrafficResult
    symbolic: int

    @property
    def difference(self) -> str | None:
        """A line about what is wrong, or None."""
        if self.exact != self.approximate:
            return (
                f"{self.name}: {self.exact.beats} beats to and from off-chip memory in the RTL, "
                f"{self.approximate.beats} in the model"
            )
        if self.exact.bytes != self.symbolic:
            return f"{self.name}: {self.exact.bytes} bytes moved, but the symbolic off-chip metric says {self.symbolic}"
        return None


def compare_traffic(
    netlist: Netlist, exact: RunResult, approximate: RunResult, values: Mapping[str, int]
) -> tuple[TrafficComparison, ...]:
    """Traffic of every operator at off-chip memory; ``values`` are those of the program's symbols."""
    moving = [node for node in netlist.units if node.name in exact.traffic]
    return tuple(
        TrafficComparison(
            node.name,
            exact.traffic[node.name],
            approximate.traffic[node.name],
            int(evaluate(node.operator.off_chip_bytes(node), values, netlist.graph)),
        )
        for node in moving
    )
