"""The bench of a board's folder: SystemVerilog that runs the program twice, and looks at what it left in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cosim.board.constraints import TEXTS
from cosim.board.memory import ExpectedImage
from cosim.board.tables import PlacedImage, Tables
from cosim.testbench.axi import axi_memory
from cosim.testbench.data import hex_lines
from cosim.testbench.fabric import hint_line
from hw.registers.block import AXIL
from hw.verilog.structure import EdgeNames
from step.host.texts import filled
from step.lowering.arrival import arrival

RUNS = 2
"""One after the other, without a reset."""

CYCLES = 1 << 14
"""Without movement, after which the bench gives up."""

_ALWAYS = ("s_axil_bready", "s_axil_rready")
"""The bench takes every answer at once."""


def data_files(
    tables: Tables, places: Sequence[PlacedImage], contents: Mapping[str, bytes], wanted: Mapping[str, ExpectedImage]
) -> dict[str, bytes]:
    """The ``memory`` before a run, what is ``expected`` after it, and the ``mask`` of the bits that count of that.

    Each is there as it is (``.bin``), and as words for the bench (``.hex``).
    """
    base, size = places[0].address, places[-1].end - places[0].address
    before, after, mask = bytearray(size), bytearray(size), bytearray(size)
    for place in places:
        at = place.address - base
        given = contents.get(place.name, b"")
        before[at : at + len(given)] = given
        if place.name in wanted:
            found = wanted[place.name]
            after[at : at + len(found.content)] = found.content
            mask[at : at + len(found.mask)] = found.mask
    width, files = tables.design.board.bus.bytes, dict[str, bytes]()
    for name, content in (("memory", before), ("expected", after), ("mask", mask)):
        files |= {f"{name}.bin": bytes(content), f"{name}.hex": hex_lines(bytes(content), width).encode()}
    return files


def bench_text(tables: Tables, places: Sequence[PlacedImage], megahertz: Sequence[float]) -> str:
    """The bench, ``text/bench.sv`` with what is this board's in the place of ``<NAME>``; its top is ``NAME_bench``.

    Its clock has 10 ns; that of buses is as much faster as ``megahertz`` say.
    """
    design, addresses = tables.design, tables.addresses
    bus, top, base = design.board.bus, design.top, places[0].address
    words = (places[-1].end - base) // bus.bytes
    names, default = top.names, EdgeNames()
    memory, nets = axi_memory(top, words, base)
    registers = f"{names.slave}_"
    own = {each: AXIL + each.removeprefix(registers) for each in top.ports if each.startswith(registers)}
    nets |= own | {"interrupt": "interrupt", names.clock: default.clock, names.reset: names.active(default.reset)}
    nets |= {names.bus_clock: default.bus_clock, names.bus_reset: names.active(default.bus_reset)}
    return filled(
        TEXTS / "bench.sv",
        **{"name": tables.name, "top": top.name, "words": words, "bits": 8 * bus.bytes, "runs": RUNS, "cycles": CYCLES},
        **{"ports": top.all_ports, "always": _ALWAYS, "memory": memory, "hint": hint_line(arrival(tables.netlist))},
        **{"nets": dict.fromkeys(top.all_ports, "") | nets, "own": {**own, "interrupt": "interrupt"}},
        bus_half=1000 / megahertz[1] / 2 * megahertz[0] / 100 if len(top.clocks) > 1 else None,
        registers={each: addresses[each] for each in _REGISTERS},
        settings=[each for place in places for each in tables.settings(place).values()],
    )


_REGISTERS = ("control", "status", "fault", "cycles_low", "watchdog", "interrupt_enable", "interrupt")
