"""Text of a module from what Amaranth converts: folded where widths allow it, and plain for simulators."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cosim.building.toolchain import find_toolchain
from hw.axi.status import RunStatus
from hw.verilog.circuit import Bits, Cell, Slice
from hw.verilog.convert import verilog
from hw.verilog.expressions import Expression, Expressions, ValueKind
from hw.verilog.rtlil import circuits, rtlil_of

BENCH = (Path(__file__).parent / "spelling" / "crossed_bench.sv").read_text()


def text_of(component: wiring.Component, name: str) -> str:
    return verilog(rtlil_of(component, name, None))


class Counting(wiring.Component):
    """A choice of a sum, a condition of bits, a sum that is compared and shifted, and something that nobody reads."""

    a: In(4)
    b: In(4)
    kept: Out(4)
    wide: Out(1)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        count = Signal(4)
        unread = Signal()
        total = Signal(4)
        m.d.comb += [
            total.eq(self.a + self.b),
            unread.eq(self.a[1]),
            self.kept.eq(total >> count),
            self.wide.eq(total == self.b),
        ]
        with m.If(~self.a[0] & self.b[1]):
            m.d.sync += count.eq(Mux(self.a == self.b, 0, count + 1))
        return m


COUNTING = """\
module counting (
  input wire [3:0] a,
  input wire [3:0] b,
  input wire clk,
  input wire rst,
  output wire [3:0] kept,
  output wire wide
);
  wire [4:0] a_plus_b;
  reg [3:0] count = 4'h0;
  wire [3:0] total;
  assign a_plus_b = a + b;
  assign total = a_plus_b[3:0];
  assign kept = total >> count;
  assign wide = total == b;
  always_ff @(posedge clk) begin
    if (~a[0] & b[1]) begin
      count <= (a == b) ? 4'h0 : (count + 1'h1);
    end
    if (rst) begin
      count <= 4'h0;
    end
  end
endmodule
"""


def test_a_module_is_folded_where_widths_allow_it() -> None:
    """A sum keeps its width where it is compared or shifted, so it stays a wire."""
    assert text_of(Counting(), "counting") == COUNTING


class Half(wiring.Component):
    """A port that is a part of a sum."""

    a: In(4)
    half: Out(4)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.d.comb += self.half.eq((self.a + 1)[1:])
        return m


def test_a_port_that_is_a_part_has_one_driver() -> None:
    assert re.findall("assign (.*);", text_of(Half(), "half")) == ["a_plus_1 = a + 1'h1", "half = a_plus_1[4:1]"]


WIDTHS = {"a": 4, "b": 4, "c": 1, "1": 1, "2": 1, "3": 4, "4": 4, "5": 1}


def bits(name: str, width: int = 0) -> Bits:
    return (Slice(name, 0, width or WIDTHS[name]),)


def operator(kind: str, wire: str, *names: str, **parameters: str) -> Cell:
    ports = "SBA" if kind == "mux" else "AB"
    return Cell(
        kind, wire, parameters, {port: bits(each) for port, each in zip(ports, names, strict=False)}, {"Y": wire}
    )


@pytest.mark.parametrize(
    ("cell", "width", "folded"),
    [
        (operator("and", "y", "1", "2"), 1, "(a == b) & ~c"),
        (operator("not", "y", "1"), 1, "~(a == b)"),
        (operator("eq", "y", "3", "b"), 1, "n3 == b"),
        (operator("mux", "y", "2", "3", "b"), 4, "~c ? (a + b) : b"),
        (operator("add", "y", "3", "a"), 4, "n3 + a"),
        (operator("and", "y", "4", "a"), 4, "n4 & a"),
        (operator("and", "y", "5", "1"), 1, "($signed(a) < $signed(b)) & (a == b)"),
    ],
)
def test_what_is_put_into_an_expression(cell: Cell, width: int, folded: str) -> None:
    signed = {"A_SIGNED": "1", "B_SIGNED": "1"}
    cells = [operator("eq", "1", "a", "b"), operator("not", "2", "c"), operator("add", "3", "a", "b")]
    cells += [operator("add", "4", "a", "b", **signed), operator("lt", "5", "a", "b", **signed), cell]

    def plain(value: Bits) -> Expression:
        (chunk,) = value
        assert isinstance(chunk, Slice)
        return Expression(f"n{chunk.wire}" if chunk.wire.isdigit() else chunk.wire, 1, ValueKind.OTHER)

    drivers = {each.wire: each for each in cells}
    expressions = Expressions(drivers, WIDTHS | {"y": width}, Counter([*WIDTHS]), plain, folded=True)
    assert expressions.of("y").text == folded


class Crossed(wiring.Component):
    """Bits of x and y depend on one another in turn, z has a part that is constant, w is many parts."""

    a: In(2)
    c: In(1)
    y: Out(2)
    z: Out(4)
    w: Out(3)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        x = Signal(2)
        m.d.comb += [x.eq(Cat(self.a[0], self.y[0])), self.y.eq(Cat(x[0], self.a[1]))]
        m.d.comb += [self.z[2:].eq(1), self.w[0].eq(self.c), self.w[1:].eq(self.a)]
        with m.If(self.c):
            m.d.comb += [x[0].eq(1), self.y[1].eq(0), self.z[:2].eq(self.a), self.w[1].eq(0)]
        return m


def test_a_signal_gets_its_value_in_one_step() -> None:
    text = text_of(Crossed(), "crossed")
    assert text.count("always_comb begin\n    reg ") == text.count("always_comb") == 4
    assert not re.search(r"^    [wxyz] = (?!\w+_value;)", text, re.MULTILINE)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_icarus_comes_to_rest(tmp_path: Path) -> None:
    """With two assignments each, Icarus 11 goes round for ever."""
    (tmp_path / "all.sv").write_text(text_of(Crossed(), "crossed") + BENCH)
    subprocess.run(["iverilog", "-g2012", "-o", "all", "all.sv"], cwd=tmp_path, check=True, capture_output=True)
    ran = subprocess.run(["vvp", "-n", "all"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == "10 0100 100"


class Chosen(wiring.Component):
    """Choices with and without all values."""

    a: In(2)
    b: Out(1)
    c: Out(1)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        with m.Switch(self.a):
            with m.Case(0):
                m.d.comb += self.b.eq(1)
            with m.Case("1-", "01"):
                m.d.comb += self.b.eq(0)
        with m.Switch(self.a), m.Case(3):
            m.d.comb += self.c.eq(1)
        return m


def test_a_case_has_a_default() -> None:
    text = text_of(Chosen(), "chosen")
    assert "      2'b1?, 2'h1:\n        b_value = 1'h0;\n      default: ;\n    endcase" in text
    assert "      2'h3:\n        c_value = 1'h1;\n      default: ;\n    endcase" in text


def test_a_wire_without_a_driver_is_refused() -> None:
    text = rtlil_of(Counting(), "counting", None)
    with pytest.raises(AssertionError, match=r"counting: \['unread'\] without one driver"):
        circuits(text.replace("connect \\unread \\a [1]\n", ""))


class Reduced(wiring.Component):
    """Operators over no bits, as where a board has no sinks."""

    a: In(1)
    every: Out(1)
    some: Out(1)
    odd: Out(1)
    true: Out(1)

    def elaborate(self, platform: Any) -> Elaboratable:
        m, none = Module(), Cat()
        m.d.comb += [self.every.eq(self.a & none.all()), self.some.eq(self.a | none.any())]
        m.d.comb += [self.odd.eq(self.a ^ none.xor()), self.true.eq(self.a | none.bool())]
        return m


def test_operators_over_no_bits() -> None:
    """All of none are 1: the board of a program without sinks ends."""
    text = text_of(Reduced(), "reduced")
    assert [line for line in text.splitlines() if "assign" in line] == [
        f"  assign {each} = a;" for each in ("every", "some", "odd", "true")
    ]
    assert "  assign finished = fabric_done;\n" in text_of(RunStatus((1,), 0, 4), "status")


class Long(wiring.Component):
    """A bit, many times."""

    x: In(1)
    y: Out(45_000)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.d.comb += self.y.eq(Cat(*[self.x] * 45_000))
        return m


def test_a_line_that_verilator_refuses_goes_on_in_the_next_one(tmp_path: Path) -> None:
    """One of more than 40,000 words, as where 512 sums are lengthened."""
    written = text_of(Long(), "long")
    assert max(map(len, written.splitlines())) < 3000
    (tmp_path / "long.sv").write_text(written)
    tools = find_toolchain()
    command = [str(tools.verilator.path), "--lint-only", "-Wno-DECLFILENAME", "long.sv"]
    done = subprocess.run(command, cwd=tmp_path, env=tools.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
