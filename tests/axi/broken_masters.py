"""Masters that break the rules of AXI4, one at a time: what the checker of the bus has to find."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from amaranth.hdl import Elaboratable, ResetSignal, Signal
from amaranth.lib.wiring import In

from hw.axi.read_master import ReadMaster
from hw.axi.write_master import WriteMaster
from hw.verilog.modules import Parametric

BROKEN = {
    1: "DROPPED", 2: "CHANGED", 3: "PAGE", 4: "KIND", 5: "TOO_MANY", 6: "WRONG_ID", 17: "DROPPED", 18: "CHANGED",
    19: "LAST", 20: "IN_RESET", 21: "TOO_EARLY", 22: "STROBES", 23: "KIND",
}  # fmt: skip
"""The rule that each mutant breaks: below 16 in the channels of reads, from there on in those of writes."""


class _Mutant(Parametric):
    """A master with one more input: ``mutant``, 0 for none; on its bus it stands among the other signals."""

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__({**members, "mutant": In(5)})


class MutantReads(ReadMaster, _Mutant):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.parameters = {**self.parameters, "mutants": _this_file()}

    def elaborate(self, platform: Any) -> Elaboratable:
        m: Any = super().elaborate(platform)
        waits = self.arvalid & ~self.arready
        with m.If((self.mutant == 1) & waits):
            m.d.sync += self.arvalid.eq(0)
        with m.If((self.mutant == 2) & waits):
            m.d.sync += self.araddr.eq(self.araddr + 32)
        with m.If((self.mutant == 3) & ~waits):
            m.d.sync += [self.araddr[3:12].eq(-1), self.arlen.eq(1)]
        with m.If((self.mutant == 4) & ~waits):
            m.d.sync += self.arlen.eq(4)
        with m.If(self.mutant == 5):
            m.d.sync += self.arvalid.eq(1)
        with m.If(self.mutant == 6):
            m.d.comb += self.arid.eq(1)
        return m


class MutantWrites(WriteMaster, _Mutant):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.parameters = {**self.parameters, "mutants": _this_file()}

    def elaborate(self, platform: Any) -> Elaboratable:
        m: Any = super().elaborate(platform)
        again = Signal()
        m.d.sync += again.eq(~again)
        with m.If((self.mutant == 17) & again):
            m.d.comb += self.wvalid.eq(0)
        with m.If((self.mutant == 18) & again):
            m.d.comb += self.wdata.eq(0)
        with m.If(self.mutant == 19):
            m.d.comb += self.wlast.eq(0)
        with m.If(self.mutant == 20):
            m.d.comb += self.wvalid.eq(1)
        with m.If((self.mutant == 21) & ~ResetSignal()):
            m.d.comb += self.wvalid.eq(1)
        with m.If(self.mutant == 22):
            m.d.comb += self.wstrb.eq(-1)
        with m.If(self.mutant == 23):
            m.d.comb += self.awburst.eq(0)
        return m


def _this_file() -> str:
    """A change here makes other modules."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
