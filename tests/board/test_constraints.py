"""OpenSTA, as `step synth` has it, reads the SDC of a board, and every port and every path has its constraint."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from board_programs import FABRIC, moved

from cosim.board.constraints import sdc
from hw.design.emit import emit
from hw.registers.wrapper import board_design
from hw.verilog.structure import CONSTRAINTS, HERE, Structure
from step import BusConfig, lower

CELLS = Path(__file__).parents[1] / "cli" / "tiny.lib"
pytestmark = pytest.mark.skipif(shutil.which("sta") is None, reason="needs OpenSTA (Debian: apt install opensta)")


def of_buses(port: str) -> bool:
    return port.startswith(("m_axi", "bus_"))


def stub(top: Structure) -> str:
    """A module with the ports of ``top``: behind each bit of an input a flip-flop, and outputs behind these by turns,
    of either clock."""
    ports = {"clk": ("input", 1), "rst": ("input", 1), **top.ports}
    clocks = [each for each in ("clk", "bus_clk") if each in ports]
    bits: dict[str, list[str]] = {"input": [], "output": []}
    lines = [f"module {top.name} ({', '.join(ports)});"]
    for name, (way, width) in ports.items():
        lines.append(f"  {way} {f'[{width - 1}:0] ' * (width > 1)}{name};")
        if name not in clocks:
            bits[way] += [f"{name}[{at}]" for at in range(width)] if width > 1 else [name]
    for at, port in enumerate(bits["input"]):
        clock = clocks[-1] if of_buses(port) else "clk"
        lines += [f"  wire q{at};", f"  DFFPOSX1 i{at} (.CLK({clock}), .D({port}), .Q(q{at}));"]
    for at, port in enumerate(bits["output"]):
        lines.append(f"  BUFX2 o{at} (.A(q{at % len(bits['input'])}), .Y({port}));")
    return "\n".join([*lines, "endmodule"]) + "\n"


def analysed(top: Structure, constraints: str, directory: Path, *commands: str) -> str:
    """What OpenSTA says to ``constraints`` of a module with the ports of ``top``, and to ``commands``."""
    (directory / "top.v").write_text(stub(top))
    (directory / "top.sdc").write_text(constraints)
    lines = [f"read_liberty {CELLS}", "read_verilog top.v", f"link_design {top.name}", "read_sdc top.sdc"]
    (directory / "look.tcl").write_text("\n".join([*lines, "check_setup -verbose", *commands]) + "\n")
    command = ["sta", "-no_splash", "-exit", "look.tcl"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize(("masters", "own_clock", "streams"), [(1, False, True), (2, False, False), (2, True, False)])
def test_a_board(masters: int, own_clock: bool, streams: bool, tmp_path: Path) -> None:
    netlist = lower(moved().graph, FABRIC)
    top = board_design(netlist, BusConfig(masters=masters, bytes=16), own_clock=own_clock, streams=streams).top
    constraints = sdc(top, [125, 200] if own_clock else [125])
    between = [
        f"report_checks -format end -path_delay {kind} -from [get_clocks {one}] -to [get_clocks {other}]"
        for kind in ("max", "min")
        for one, other in (("clk", "bus_clk"), ("bus_clk", "clk"))
    ]
    told = analysed(top, constraints, tmp_path, "puts {port paths}", *(between if own_clock else ()))
    setup, _, paths = told.partition("port paths\n")
    assert setup == ""  # no port without a delay, no flip-flop without a clock, no path without an end
    assert ("create_clock -name bus_clk" in constraints) == own_clock
    if own_clock:
        # The shorter period, 5 ns, less the delay outside, a share of that of the clock it belongs to.
        assert paths.count("3.50") == 1 and paths.count("2.60") == 1 and paths.count("No paths found.") == 2
    for port in (each for each in top.ports if each not in ("clk", "bus_clk")):
        clock = "bus_clk" if own_clock and of_buses(port) else "clk"
        section = constraints.partition(f"{port}[*]" if top.ports[port][1] > 1 else f" {port}")[0]
        assert section.rpartition("_delay -clock ")[2].split()[0] == clock, port


def test_a_fabric_alone(tmp_path: Path) -> None:
    top = emit(lower(moved().graph, FABRIC), probes=False).structure
    told = analysed(top, (HERE / CONSTRAINTS).read_text(), tmp_path, "puts [get_property [get_clocks clk] period]")
    assert told.splitlines()[-1] == "10.000000" and "Error" not in told and "not found" not in told


def test_what_is_in_it() -> None:
    top = Structure("small", ports={"s_axil_wdata": ("input", 32), "s_axil_rvalid": ("output", 1)})
    assert sdc(top, [100]).splitlines()[5:13] == [
        "create_clock -name clk -period $step_period [get_ports clk]",
        "",
        "set_input_delay -clock clk $step_input_delay [get_ports {",
        "  rst s_axil_wdata[*]",
        "}]",
        "",
        "set_output_delay -clock clk $step_output_delay [get_ports {",
        "  s_axil_rvalid",
    ]
