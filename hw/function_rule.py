"""What the rules that start a datapath have in common."""

from __future__ import annotations

from dataclasses import dataclass

from hw.functions.datapath import Datapath
from hw.layout import Format, TokenFormat
from hw.unit import Rule


@dataclass(frozen=True)
class FunctionRule(Rule):
    """A rule whose values go through ``datapath``, and that takes as long as this does."""

    operands: tuple[TokenFormat, ...]
    result: TokenFormat
    datapath: Datapath

    @property
    def initiation_interval(self) -> int:  # type: ignore[override]
        return self.datapath.initiation_interval

    @property
    def latency(self) -> int:  # type: ignore[override]
        return self.datapath.latency

    @property
    def inputs(self) -> tuple[Format, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.result,)
