"""Peaks of buffers in on-chip memory: in RTL, in the fast model, and by the symbolic metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from step.language.symbols import evaluate
from step.lowering.memory import IN_FLIGHT, Share, scratchpads
from step.lowering.netlist import Netlist
from step.running.result import RunResult

TOGETHER = "all buffers"


@dataclass(frozen=True)
class BufferComparison:
    """The most bytes that the buffers ``name`` had, in whole pages; ``bound``: what the metric allows, if anything."""

    name: str
    exact: int
    approximate: int
    bound: int | None

    @property
    def difference(self) -> str | None:
        """A line about what is wrong, or None."""
        if self.exact != self.approximate:
            return f"{self.name}: {self.exact} bytes at most in the RTL, {self.approximate} in the model"
        if self.bound is not None and self.exact > self.bound:
            return f"{self.name}: {self.exact} bytes at most, but the symbolic on-chip metric allows {self.bound}"
        return None


def compare_buffers(
    netlist: Netlist, exact: RunResult, approximate: RunResult, values: Mapping[str, int]
) -> tuple[BufferComparison, ...]:
    """Comparisons of all shares of scratchpads, then of all together; ``values`` are those of the program's symbols."""
    shares = [share for scratchpad in scratchpads(netlist) for share in scratchpad.shares]
    bounds = {share.filler.name: _bound(share, netlist, values) for share in shares}
    found = [
        BufferComparison(name, exact.buffers[name], approximate.buffers[name], bound) for name, bound in bounds.items()
    ]
    if found:
        known = [bound for bound in bounds.values() if bound is not None]
        total = sum(known) if len(known) == len(bounds) else None
        found.append(BufferComparison(TOGETHER, exact.buffer_bytes, approximate.buffer_bytes, total))
    return tuple(found)


def _bound(share: Share, netlist: Netlist, values: Mapping[str, int]) -> int | None:
    """The symbolic metric in whole pages: the tile that comes in is in a channel, the rest are buffers in flight.

    It counts tiles. A token without one takes a slot too, so where there are no tiles at all it is no bound. Where the
    shape is ragged it stands for all buffers of the run, and is one.
    """
    operator, tile = share.filler.operator, share.filler.input_types[0].element.bytes
    metric = operator.on_chip_bytes(share.filler, "paper")
    tiles = int(evaluate((metric - tile) / (IN_FLIGHT * tile), values, netlist.graph))
    return IN_FLIGHT * -(-tiles // share.slots) * netlist.fabric.page_bytes if tiles else None
