"""Verilog as a person would write it: what is changed, and what must not be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib.data import StructLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from farm import farm
from scenarios import FABRIC, SCENARIOS

from hw.design.emit import emit
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric
from step.lowering.netlist import lower

SPELLED = Path(__file__).with_name("spelling")
"""Files with the Verilog that is wanted."""


class Sample(Parametric):
    """Names that differ by a number only, parts of signals, a keyword, no bits, a register, a full choice, memories."""

    parameters: ClassVar[dict[str, Any]] = {"slots": 2, "entry_bits": 8}

    def __init__(self) -> None:
        super().__init__({"a": In(8), "b": Out(8)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        token = Signal(StructLayout({"data": 4, "kind": 4}), name="token")
        first, second, third = (Signal(9, name=name) for name in ("sum", "sum", "token_data"))
        before, nothing = Signal(name="before", init=1), Signal(0)
        m.submodules.slots = slots = Memory(shape=8, depth=2, init=[])
        m.submodules.table = table = Memory(shape=8, depth=3, init=[0, 10, 7])
        write, read, entry = slots.write_port(), slots.read_port(domain="comb"), table.read_port()
        m.d.comb += [token.eq(self.a), first.eq(self.a + 1), second.eq(first), third.eq(token.data), nothing.eq(1)]
        m.d.comb += [write.en.eq(before), write.addr.eq(self.a[0]), write.data.eq(second), read.addr.eq(self.a[0])]
        m.d.comb += [entry.en.eq(1), entry.addr.eq(third)]
        m.d.sync += before.eq(self.a[7])
        with m.Switch(token.kind[:2]):
            with m.Case(0):
                m.d.sync += self.b.eq(entry.data)
            with m.Case(1):
                m.d.sync += self.b.eq(7)
            with m.Case(2, 3):
                m.d.sync += self.b.eq(read.data)
        return m


def written(directory: Path, *, initial_values: bool) -> str:
    library = ModuleLibrary(directory, initial_values=initial_values)
    name = library.require(Sample())
    return library.texts()[name].text


def test_names_ports_zeros_and_memories_are_plain(tmp_path: Path) -> None:
    assert written(tmp_path, initial_values=True) == (SPELLED / "plain.sv").read_text()


def test_an_asic_has_no_value_at_power_on(tmp_path: Path) -> None:
    text = written(tmp_path, initial_values=False)
    assert "initial" not in text and not re.search(r"reg [^=\n]* = ", text)
    assert text == (SPELLED / "reset_only.sv").read_text()


ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())


@pytest.mark.parametrize("initial_values", [True, False])
def test_all_that_is_emitted_is_spelled_plainly(initial_values: bool) -> None:
    netlist = lower(farm("spelled", ONE_OF_EACH).graph, FABRIC)
    design = emit(netlist, probes=False, initial_values=initial_values)
    for name in design.sidecar["files"]:
        text = design.files[name]
        assert "\\" not in text and "full_case" not in text, name
        assert not re.search(r"'h0[0-9a-f]", text), name
        assert re.search(r"^module \w+ #?\($", text, re.MULTILINE), name
        assert initial_values or not re.search(r"^ *(?:initial begin|.*\breg [^=\n]* = )", text, re.MULTILINE), name
