"""Packets: streams at the edge whose ``tlast`` ends more than a token, as a DMA of AXI4-Stream wants it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.wiring import In, Out

from hw.links.layout import TokenFormat, cycles_of, input_formats, output_formats
from hw.primitives.timing import counts
from hw.verilog.modules import Parametric
from hw.verilog.structure import Structure
from step.lowering.netlist import Netlist


class PacketEnds(Parametric):
    """TLAST of a sink: ``last`` of a token (``token_last``) where it is Done, or its stop is ``level`` or higher."""

    clocked = False

    def __init__(self, format: TokenFormat, level: int) -> None:
        self._format, self._level = format, level
        super().__init__({"user": In(format.header_bits), "token_last": In(1), "last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        header = Signal(self._format.header)
        m.d.comb += header.as_value().eq(self.user)
        m.d.comb += self.last.eq(self.token_last & (header.done | (header.stop >= self._level)))
        return m


class TokenEnds(Parametric):
    """TLAST of a source: the last transfer of each token, by its header, which all transfers of it have."""

    def __init__(self, format: TokenFormat) -> None:
        self._format, self.clocked = format, format.cycles > 1
        super().__init__({"user": In(format.header_bits), "valid": In(1), "ready": In(1), "token_last": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        header = Signal(self._format.header)
        place = Signal(range(self._format.cycles))
        m.d.comb += header.as_value().eq(self.user)
        m.d.comb += self.token_last.eq(~header.value | (place == cycles_of(self._format, header) - 1))
        if self._format.cycles > 1:
            counts(m, place, self.valid & self.ready, self.token_last)
        return m


def add_packets(top: Structure, netlist: Netlist, level: int, reset: str) -> None:
    """Put packets at the streams of ``top``, which are in reset with ``reset``.

    A stream whose rank is below ``level`` has packets of its highest stop. Sources have no ``tlast``.
    """
    (fabric,) = (each for each in top.instances if each.name == "fabric")
    for node in netlist.units:
        is_source = node.operator.given() is not None
        if not is_source and not node.operator.hands_out:
            continue
        name = node.name
        fabric.connections[f"{name}_tlast"] = f"{name}_token_last"
        wires: dict[str, str | int] = {"user": f"{name}_tuser", "token_last": f"{name}_token_last", "rst": reset}
        if is_source:
            del top.ports[f"{name}_tlast"]
            wires |= {each: f"{name}_t{each}" for each in ("valid", "ready")}
            ends: Parametric = TokenEnds(output_formats(node, netlist)[0])
        else:
            (format,) = input_formats(node, netlist)
            ends = PacketEnds(format, min(level, format.rank))
            wires["last"] = f"{name}_tlast"
        top.add(f"packets_{name}", ends, wires, f"packets of {name}")
