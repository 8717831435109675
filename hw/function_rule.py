"""What the rules that start a datapath have in common."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Value

from hw.functions.datapath import Datapath
from hw.layout import Format, TokenFormat
from hw.unit import Firing, Rule


@dataclass(frozen=True)
class FunctionRule(Rule):
    """A rule whose values go through ``datapath``, and that takes as long as this does.

    Operands lag their headers by a cycle, and so does the result; if it is control, the header has to wait for it.
    """

    operands: tuple[TokenFormat, ...]
    result: TokenFormat
    datapath: Datapath

    @property
    def initiation_interval(self) -> int:  # type: ignore[override]
        return self.datapath.initiation_interval

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.datapath.latency + self.result.control

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.result,)

    def give(self, firing: Firing, result: Value) -> None:
        """``result`` is what became of operands that lagged their headers by as much as the datapath takes."""
        if self.result.control:
            firing.late(0, control=result)
        else:
            firing.send(0, result)
