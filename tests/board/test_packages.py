"""Packages for vendors' tools: what they say against the board that they are of.

No vendor's tool is here. Names and widths are those of the Verilog, and pins of vendors' IP those that their product
guides have (UG585, PG195, PG276, PG247 of AMD).
"""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import cases

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from board_programs import moved
from cores import run_target
from recorded_tcl import needs_tcl, option, recorded

from cosim.board.folder import Folder, write_folder
from cosim.board.options import Options
from cosim.board.packages import package_options
from hw.registers.wrapper import LOW_RESETS
from hw.verilog.structure import interfaces_of
from step.errors import InputError
from step.lowering.bus import Axi3Config, BusConfig
from step.programs.prepare import prepare

BUS = BusConfig(masters=2, bytes=16)
OTHER = Options(Axi3Config(masters=2, bytes=8), bus_mhz=133.0, names=LOW_RESETS)
CHOICES = {
    "vitis": Options(BUS),
    "vitis two clocks": Options(BUS, bus_mhz=300.0),
    "pynq-z2": Options(BUS),
    "pynq-z2 axi3": OTHER,
    "u55c": Options(BUS),
    "u55c two clocks": Options(BUS, bus_mhz=300.0, names=LOW_RESETS),
    "quartus": Options(BUS, streams=False),
    "quartus axi3": OTHER,
}
KERNELS = [each for each in CHOICES if each.startswith("vitis")]
CARDS = [each for each in CHOICES if each.startswith(("pynq", "u55c"))]
COMPONENTS = [each for each in CHOICES if each.startswith("quartus")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a choice, written once."""
    written = dict[str, tuple[Path, Folder]]()

    def of(choice: str) -> tuple[Path, Folder]:
        if choice not in written:
            directory = tmp_path_factory.mktemp("package")
            options = package_options(choice.split()[0], CHOICES[choice])
            written[choice] = directory, write_folder(prepare(moved()), options, directory)
        return written[choice]

    return of


@pytest.mark.parametrize("choice", KERNELS)
def test_a_kernel_is_that_of_the_schema(made: Any, choice: str) -> None:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    schema = etree.XMLSchema(etree.parse(Path(__file__).with_name("kernel.xsd")))
    schema.assertValid(etree.parse(made(choice)[0] / "vitis" / "kernel.xml"))


@pytest.mark.parametrize("choice", KERNELS)
def test_a_kernel_has_the_ports_and_registers_of_the_board(made: Any, choice: str) -> None:
    directory, folder = made(choice)
    top, kernel = folder.tables.design.top, xml.parse(directory / "vitis" / "kernel.xml").getroot()[0]
    assert kernel.get("name") == top.name and kernel.get("vlnv") == f"step:board:{top.name}:1.0"
    ports = {str(each.get("name")): each for each in kernel.iter("port")}
    assert [*ports] == ["s_axi_control", "m_axi0", "m_axi1"]
    for name, each in ports.items():
        assert each.get("dataWidth") == str(top.ports[f"{name}_rdata"][1])
    clocks = {"ap_clk", "ap_rst_n"} | ({"ap_clk_2", "ap_rst_n_2"} if "two" in choice else set())
    of_interfaces = {port for each in interfaces_of(top) for port in each.ports.values()}
    assert {*top.all_ports} == clocks | of_interfaces | {"interrupt"}  # a kernel has no port besides
    assert top.ports["m_axi0_araddr"][1] == 64
    board, addresses = folder.tables.design.board, folder.tables.addresses
    wanted = {(f"m_axi{port.master}", addresses[f"base_{board.images[port.image].name}_low"]) for port in board.ports}
    arguments = list(kernel.iter("arg"))
    assert {(each.get("port"), int(str(each.get("offset")), 0)) for each in arguments} == wanted
    assert len(arguments) == len(wanted)
    for each in arguments:  # of 8 bytes: two registers
        offset = int(str(each.get("offset")), 0)
        (name,) = (name for name, address in addresses.items() if address == offset + 4)
        assert name.endswith("_high")


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs Icarus Verilog")
@pytest.mark.parametrize("choice", KERNELS)
def test_a_kernel_runs_its_program(made: Any, choice: str, tmp_path: Path) -> None:
    directory, folder = made(choice)
    done = run_target(directory, f"step:board:{folder.tables.design.top.name}:0", "sim_icarus", tmp_path)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout + done.stderr


def said(commands: list[list[str]], name: str) -> Iterator[list[str]]:
    return (each for each in commands if each[0] == name)


@needs_tcl
@pytest.mark.parametrize("choice", [*KERNELS, *CARDS])
def test_the_packaged_ip_is_the_board(made: Any, choice: str) -> None:
    directory, folder = made(choice)
    design, part = folder.tables.design, "vitis" if choice in KERNELS else "vivado"
    commands = recorded(directory / part / "package.tcl")
    added = [Path(each[-1]).resolve() for each in said(commands, "add_files")]
    assert added == [(directory / each).resolve() for each in folder.tables.rtl] and all(
        each.is_file() for each in added
    )
    assert ["set_property", "top", design.top.name] in [each[:3] for each in commands]
    clocks = {each[1] for each in said(commands, "ipx::infer_bus_interface")} - {"interrupt"}
    assert clocks == {*design.top.clocks, *design.top.clocks.values()}
    associated = {
        option(each, "-busif"): option(each, "-clock")
        for each in said(commands, "ipx::associate_bus_interfaces")
        if "-busif" in each
    }
    assert associated == {each.name: design.top.clock_of(each.name) for each in interfaces_of(design.top)}
    resets = {
        option(each, "-clock"): option(each, "-reset")
        for each in said(commands, "ipx::associate_bus_interfaces")
        if "-reset" in each
    }
    assert resets == design.top.clocks
    registers = [each[1] for each in said(commands, "ipx::add_register")]
    offsets = [int(each[2], 0) for each in said(commands, "set_property") if each[1] == "address_offset"]
    sizes = [int(each[2]) for each in said(commands, "set_property") if each[1] == "size"]
    assert len(registers) == len({*registers}) == len(offsets) == len(sizes)
    covered = [at for offset, bits in zip(offsets, sizes, strict=True) for at in range(offset, offset + bits // 8, 4)]
    assert covered == sorted(folder.tables.addresses.values())
    protocols = [each[2] for each in said(commands, "set_property") if each[1:2] == ["value"] and each[2] == "AXI3"]
    assert len(protocols) == (2 if "axi3" in choice else 0)
    if choice in KERNELS:
        assert ["set_property", "sdx_kernel", "true"] in [each[:3] for each in commands]
        assert ["set_property", "vitis_drc", "ctrl_protocol user_managed"] in [each[:3] for each in commands]
        (packaged,) = said(commands, "package_xo")
        assert option(packaged, "-kernel_name") == design.top.name and Path(option(packaged, "-kernel_xml")).is_file()
    else:
        assert not list(said(commands, "package_xo"))


SMARTCONNECT = r"aclk1?|aresetn|S0\d_AXI|M00_AXI"
PINS = {
    "xilinx.com:ip:processing_system7:5.5": r"FCLK_CLK[01]|FCLK_RESET0_N|M_AXI_GP0(_ACLK)?|S_AXI_HP[0-3](_ACLK)?|"
    r"IRQ_F2P",
    "xilinx.com:ip:proc_sys_reset:5.0": r"slowest_sync_clk|ext_reset_in|dcm_locked|(peripheral|interconnect)_aresetn|"
    r"peripheral_reset",
    "xilinx.com:ip:smartconnect:1.0": SMARTCONNECT,
    "xilinx.com:ip:xdma:4.1": r"sys_clk(_gt)?|axi_aclk|axi_aresetn|M_AXI(_LITE)?|usr_irq_req|pcie_mgt",
    "xilinx.com:ip:util_ds_buf:2.2": r"IBUF_OUT|IBUF_DS_ODIV2|CLK_IN_D",
    "xilinx.com:ip:clk_wiz:6.0": r"CLK_IN1_D|clk_out[12]|locked",
    "xilinx.com:ip:hbm:1.0": r"HBM_REF_CLK_[01]|APB_[01]_(PCLK|PRESET_N)|AXI_00_(ACLK|ARESET_N)|SAXI_00_8HI|"
    r"DRAM_[01]_STAT_CATTRIP",
    "xilinx.com:ip:util_vector_logic:2.0": r"Op[12]|Res",
    "xilinx.com:ip:xpm_cdc_gen:1.0": r"src_clk|src_in|dest_clk|dest_out",
}
"""Pins and interfaces of vendors' IP that scripts may name."""


@needs_tcl
@pytest.mark.parametrize("choice", CARDS)
def test_a_block_design_connects_all_of_the_board(made: Any, choice: str) -> None:
    directory, folder = made(choice)
    top, name = folder.tables.design.top, folder.tables.name
    for bitstream in (
        f"{name}.runs/impl_1/system_wrapper.bit",
        f"{name}.gen/sources_1/bd/system/hw_handoff/system.hwh",
    ):
        path = directory / "vivado" / "build" / name / bitstream  # as if Vivado had written it
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    commands = recorded(directory / "vivado" / "build.tcl")
    cells = {each[-1]: option(each, "-vlnv") for each in said(commands, "create_bd_cell")}
    own = f"{top.name}_0"  # as Vivado names it, and so PYNQ
    assert cells.pop(own) == f"step:board:{top.name}:1.0"
    pins = [each[1] for each in commands if each[0] in ("get_bd_pins", "get_bd_intf_pins")]
    interfaces = {each.name for each in interfaces_of(top)}
    for pin in pins:
        cell, _, rest = pin.partition("/")
        if cell != own:
            assert re.fullmatch(PINS[cells[cell]], rest), pin
    connected = Counter(pin.removeprefix(f"{own}/") for pin in pins if pin.startswith(f"{own}/"))
    assert connected == Counter([*top.clocks, *top.clocks.values(), "interrupt", *interfaces])  # each of them once
    for cell in cells:  # what is there is connected, and what is set, of a cell that is there
        assert any(pin.startswith(f"{cell}/") for pin in pins), cell
    assert {each[1] for each in said(commands, "get_bd_cells")} <= {*cells, own}
    wanted = "peripheral_aresetn" if top.names.low else "peripheral_reset"
    for number, reset in enumerate(top.clocks.values()):
        nets = [each for each in said(commands, "connect_bd_net") if f"{own}/{reset}" in each]
        assert nets == [["connect_bd_net", f"reset{number}/{wanted}", f"{own}/{reset}"]]
    reached = list(said(commands, "assign_bd_address"))
    spaces = Counter(option(each, "-target_address_space") for each in reached)
    parts = 1 if choice.startswith("pynq") else 32
    assert {space: count for space, count in spaces.items() if space.startswith(own)} == {
        f"{own}/m_axi0": parts,
        f"{own}/m_axi1": parts,
    }
    (registers,) = (each for each in reached if each[-1] == f"{own}/{top.names.slave}/reg0")
    assert int(option(registers, "-range")) >= 1 << top.ports[f"{top.names.slave}_araddr"][1]
    settings = " ".join(" ".join(each) for each in said(commands, "set_property"))
    for mhz in CHOICES[choice].megahertz:
        assert re.search(rf"FREQ(MHZ)? {mhz:g}(\.000)?\b", settings), mhz
    assert ["validate_bd_design"] in commands and (directory / "vivado" / "build" / f"{name}.bit").is_file()


@needs_tcl
def test_hbm_is_reached_as_a_whole(made: Any) -> None:
    build = (made("u55c")[0] / "vivado" / "build.tcl").read_text()
    script = made("u55c")[0] / "vivado" / "addresses.tcl"
    script.write_text("foreach space" + build.partition("foreach space")[2].partition("validate_bd_design")[0])
    commands = recorded(script)
    segments = [
        (int(option(each, "-offset"), 0), each[-1])
        for each in said(commands, "assign_bd_address")
        if option(each, "-target_address_space") == "pcie/M_AXI"
    ]
    assert segments == [(at << 29, f"hbm/SAXI_00_8HI/HBM_MEM{at:02d}") for at in range(32)]


def test_axi3_of_eight_bytes_needs_no_converter(made: Any) -> None:
    direct, through = ((made(each)[0] / "vivado" / "build.tcl").read_text() for each in ("pynq-z2 axi3", "pynq-z2"))
    line = "connect_bd_intf_net [get_bd_intf_pins fabric_moved_board_0/m_axi1] [get_bd_intf_pins {}]"
    assert line.format("ps7/S_AXI_HP1") in direct and line.format("memory1/S00_AXI") in through


@needs_tcl
@pytest.mark.parametrize("choice", COMPONENTS)
def test_a_component_of_platform_designer_has_all_ports(made: Any, choice: str) -> None:
    directory, folder = made(choice)
    top = folder.tables.design.top
    commands = recorded(directory / "quartus" / f"{top.name}_hw.tcl")
    kinds = {each[1]: (each[2], each[3]) for each in said(commands, "add_interface")}
    ports = [each[1:] for each in said(commands, "add_interface_port")]
    assert {each[1]: (each[3].lower(), int(each[4])) for each in ports} == top.all_ports
    assert len(ports) == len(top.all_ports)
    for interface, port, role, *_ in ports:
        kind, _ = kinds[interface]
        if kind.startswith("axi"):
            assert port == f"{interface}_{role}" and not (kind == "axi" and role.endswith("qos"))
    protocol = "axi" if "axi3" in choice else "axi4"
    assert kinds["m_axi0"] == kinds["m_axi1"] == (protocol, "start") and kinds["s_axil"] == ("axi4lite", "end")
    if "axi3" not in choice:
        assert kinds["s"] == ("axi4stream", "end") and kinds["t"] == ("axi4stream", "start")
    clocks = {each[1]: each[3] for each in said(commands, "set_interface_property") if each[2] == "associatedClock"}
    assert all(clocks[each.name] == top.clock_of(each.name) for each in interfaces_of(top))
    files = list(said(commands, "add_fileset_file"))
    assert [(directory / "quartus" / option(each, "PATH")).resolve() for each in files] == 2 * [
        (directory / each).resolve() for each in folder.tables.rtl
    ]
    assert {each[2] for each in ports if each[0] in top.clocks.values()} == {"reset_n" if top.names.low else "reset"}


@cases(
    ("vitis", Options(Axi3Config()), "--target vitis has AXI4: leave out --protocol axi3"),
    ("vitis", Options(BusConfig(address_bits=40)),
     "--target vitis has addresses of 64 bits: leave out --address-bits"),
    ("vitis", Options(BusConfig(bytes=128)),
     "--target vitis takes buses of 4 to 64 bytes, not 128: give --bytes 64"),
    ("vitis", Options(BusConfig(bytes=2)), "--target vitis takes buses of 4 to 64 bytes, not 2: give --bytes 64"),
    ("vitis", Options(BusConfig(), streams=False),
     "--target vitis has nobody at the edge: leave out --streams edge"),
    ("pynq-z2", Options(BusConfig(), streams=False),
     "--target pynq-z2 has nobody at the edge: leave out --streams edge"),
    ("u55c", Options(BusConfig(), streams=False), "--target u55c has nobody at the edge: leave out --streams edge"),
)  # fmt: skip
def test_what_a_package_does_not_have(target: str, options: Options, said: str) -> None:
    with pytest.raises(InputError) as refused:
        package_options(target, options)
    assert str(refused.value) == said
