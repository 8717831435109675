"""Packages of a board: a Vitis kernel, block designs of Vivado for two cards, a component of Platform Designer.

None of the vendors' tools has read them: they are written from documentation, and tests look at what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cosim.board.constraints import TEXTS
from cosim.board.options import Options
from cosim.board.tables import Tables
from hw.registers.block import address_bits
from hw.verilog.structure import EdgeNames, Structure, interfaces_of
from step.errors import InputError, expect
from step.host.texts import filled
from step.lowering.registers import WORD

KERNEL = EdgeNames("ap_clk", "ap_rst_n", "ap_clk_2", "ap_rst_n_2", "s_axi_control", low=True, bare=True)
"""Names that Vitis knows clocks, resets and registers of a kernel by."""

U55C, PYNQ_Z2 = "xcu55c-fsvh2892-2L-e", "xc7z020clg400-1"
PORT_BYTES = 8
"""Limits of a port of the memory of a Zynq-7000, which is AXI3."""

_LEAST, _MOST = 4, 64
"""Bytes of the data of a kernel's bus."""

_RANGE = 1 << 12
"""Bytes of the least range of registers."""

_OF_VITIS = ("package.tcl", "kernel.xml", "link.cfg")


def package_options(target: str, options: Options) -> Options:
    """``options`` as the package of ``target`` wants them; raises `InputError` for what it does not have."""
    what, bus = f"--target {target}", options.bus
    if target in ("axi", "quartus"):
        return replace(options, package=target)
    expect(options.streams, f"{what} has nobody at the edge: leave out --streams edge", InputError)
    if target == "vitis":
        expect(bus.protocol == "AXI4", f"{what} has AXI4: leave out --protocol axi3", InputError)
        expect(bus.address_bits == 64, f"{what} has addresses of 64 bits: leave out --address-bits", InputError)
        fits = _LEAST <= bus.bytes <= _MOST
        expect(fits, f"{what} takes buses of {_LEAST} to {_MOST} bytes, not {bus.bytes}: give --bytes 64", InputError)
        return replace(options, package=target, names=KERNEL)
    if target == "pynq-z2":
        base = 0x1000_0000 if options.base is None else options.base  # 512 MB of DDR from 0 on
        return replace(options, package=target, base=base, bus=replace(bus, address_bits=32))
    return replace(options, package=target, base=options.base or 0)  # HBM from 0 on


def package_files(tables: Tables, options: Options) -> dict[str, str]:
    """Files of the package, by their names in the folder of the board."""
    top, bus = tables.design.top, options.bus
    match options.package:
        case "vitis":
            given = _given(tables, options) | {"part": U55C, "is_kernel": True}
            return {f"vitis/{each}": filled(TEXTS / f"{each}.in", **given) for each in _OF_VITIS}
        case "pynq-z2":
            direct = bus.protocol == "AXI3" and bus.bytes == PORT_BYTES
            return _vivado(tables, options, PYNQ_Z2, "pynq_z2.tcl.in", direct=direct, width=8 * PORT_BYTES)
        case "u55c":
            pins = {"vivado/u55c.xdc": (TEXTS / "u55c.xdc").read_text()}
            return _vivado(tables, options, U55C, "u55c.tcl.in") | pins
        case "quartus":
            given = _given(tables, options) | {"interfaces": list(_platform_interfaces(top, options))}
            return {f"quartus/{top.name}_hw.tcl": filled(TEXTS / "hw.tcl.in", **given)}
    return {}


def _vivado(tables: Tables, options: Options, part: str, text: str, **more: object) -> dict[str, str]:
    given = _given(tables, options) | {"part": part, "is_kernel": False, "finish": (TEXTS / "finish.tcl").read_text()}
    build = filled(TEXTS / text, **given, **more)
    return {"vivado/package.tcl": filled(TEXTS / "package.tcl.in", **given), "vivado/build.tcl": build}


def _given(tables: Tables, options: Options) -> dict[str, object]:
    """Values that the texts of all packages have."""
    design = tables.design
    top, interfaces = design.top, interfaces_of(design.top)
    buses = {clock: [each.name for each in interfaces if top.clock_of(each.name) == clock] for clock in top.clocks}
    masters = [each.name for each in interfaces if each.kind == "axi" and each.gives]
    return {
        **{"top": top, "name": tables.name, "program": tables.netlist.graph.name, "board": design.board},
        **{"buses": buses, "masters": masters, "sources": list(tables.rtl), "megahertz": options.megahertz},
        **{"registers": list(_registers(tables)), "arguments": list(_arguments(tables))},
        "range": max(_RANGE, 1 << address_bits(design.registers)),
    }


def _arguments(tables: Tables) -> Iterator[tuple[str, str, int]]:
    """Name, bus and register of the address of each image; an image on several buses is an argument of each."""
    board, addresses = tables.design.board, tables.addresses
    for at, image in enumerate(board.images):
        for number, master in enumerate(sorted({each.master for each in board.ports if each.image == at})):
            name = image.name if number == 0 else f"{image.name}_{master}"
            yield name, f"m_axi{master}", addresses[f"base_{image.name}_low"]


def _registers(tables: Tables) -> Iterator[tuple[str, int, int, str]]:
    """Name, address, bits, and the bus of the image whose address it is; two halves of one are one register."""
    buses = {address: bus for _, bus, address in reversed(list(_arguments(tables)))}
    wide = tables.design.board.bus.address_bits > 32
    for each in tables.design.registers:
        if each.address in buses:
            yield each.name.removesuffix("_low"), each.address, 64 if wide else 32, buses[each.address]
        elif not (wide and each.address - WORD in buses):
            yield each.name, each.address, 32, ""


def _platform_interfaces(
    top: Structure, options: Options
) -> Iterator[tuple[str, str, str, str, Mapping[str, object], dict[str, str]]]:
    """Interfaces of Platform Designer: name, kind, way, clock, properties, and the role of each port.

    Its AXI3 has no ``qos``: those ports, and what is of no interface, are conduits.
    """
    names, taken = top.names, {*top.clocks, *top.clocks.values(), "interrupt"}
    for each in interfaces_of(top):
        ports = {port: role.lower() for role, port in each.ports.items()}
        kind, way, properties = "axi4lite", "start" if each.gives else "end", dict[str, object]()
        if each.kind == "axis":
            kind = "axi4stream"
        elif each.gives:
            kind, most = {"AXI3": "axi", "AXI4": "axi4"}[options.bus.protocol], options.bus.outstanding
            properties = {"readIssuingCapability": most, "writeIssuingCapability": most}
            properties["combinedIssuingCapability"] = 2 * most
        if kind == "axi":
            ports = {port: role for port, role in ports.items() if not role.endswith("qos")}
        taken |= {*ports}
        yield each.name, kind, way, top.clock_of(each.name), properties, ports
    told = {"associatedAddressablePoint": names.slave}
    yield "interrupt", "interrupt", "end", names.clock, told, {"interrupt": "irq"}
    for port in top.ports:
        if port not in taken:
            yield port, "conduit", "end", names.clock, {}, {port: "export"}
