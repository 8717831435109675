"""The whole of a board: a program behind AXI4 masters, with registers that start it."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.lib.wiring import Out

from hw.axi.wrapper import wrapped
from hw.design.emit import EmittedDesign, emit, structure_files
from hw.design.short_names import renamed, short_names
from hw.dma.wiring import FABRIC_RESET
from hw.registers.block import AXIL, rdl_text, registers_structure, registers_text
from hw.registers.run_control import HeldSetting, RunControl
from hw.verilog.modules import flat_ports
from hw.verilog.structure import EdgeNames, Structure, Written
from step.lowering.board import BoardPlan, board_of
from step.lowering.bus import BusConfig
from step.lowering.dma import REQUEST
from step.lowering.netlist import Netlist
from step.lowering.registers import UNIT_BITS, Register, check_counts, registers_of

_SHOWN = {f"status_{each}": f"run_{each}" for each in ("done", "idle", "busy", "draining", "memory_waits")}
_SHOWN |= {f"status_{each}": f"run_{each}" for each in ("queued", "runs")}
_SHOWN |= {"status_fault": "run_faulty", "fault_code": "run_fault_code", "fault_unit": "run_fault_unit"}
_SHOWN |= {f"interrupt_{each}": f"run_{each}_now" for each in ("done", "fault", "watchdog")}
_SHOWN |= {"error_start_refused": "run_refused", "lock": "run_queued", "forget": "run_begins"}
_SHOWN |= {"memory_fault_code": "memory_fault", "memory_fault_port": "memory_fault_port"}
_SHOWN |= {"memory_fault_low_value": "memory_fault_address[31:0]", "cycles_low_value": "run_cycles[31:0]"}
_SHOWN |= {"memory_fault_high_value": "memory_fault_address[63:32]", "cycles_high_value": "run_cycles[63:32]"}
_SHOWN |= {"previous_low_value": "run_previous[31:0]", "previous_high_value": "run_previous[63:32]"}
_SHOWN |= {"wait_unit_activity": "wait_activity"}
_SHOWN |= {f"wait_edge_{each}": f"wait_{each}" for each in ("starved", "blocked", "unit", "awaited")}
"""Wires that registers show."""

_TO_CONTROL = {each: each for each in ("still", "fabric_reset", "fault", "memory_fault")}
_TO_CONTROL |= {each: f"set_control_{each}" for each in ("start", "queue", "reset")}
_TO_CONTROL |= {"limit": "set_watchdog_value", "finished": "done"}

_PARTS = ("high_address", "low_address", "bytes")
"""Fields of a base address or a limit, the highest one first; those below its unit are not there."""

_READ = {
    *("done", "still", "fault", "fault_unit", "memory_fault", "memory_fault_port", "memory_fault_address"),
    *(f"wait_{each}" for each in ("moved", "transfers", "activity", "starved", "blocked", "unit", "awaited")),
}
"""Ports of the program behind its masters that end at registers and control."""

DEFAULT, LOW_RESETS = EdgeNames(), EdgeNames(reset="rst_n", bus_reset="bus_rst_n", low=True)


@dataclass(frozen=True)
class BoardDesign:
    """A board: the fabric as emitted, all ``files`` by name, the plan, the registers, and the top module."""

    fabric: EmittedDesign
    files: dict[str, str]
    board: BoardPlan
    registers: tuple[Register, ...]
    top: Structure


def board_design(
    netlist: Netlist,
    bus: BusConfig,
    *,
    own_clock: bool = False,
    streams: bool = False,
    initial_values: bool = True,
    packets: int = 0,
    names: EdgeNames = DEFAULT,
) -> BoardDesign:
    """The module ``fabric_NAME_board``, with an AXI4-Lite slave ``s_axil_``, ``interrupt``, buses and streams.

    With ``own_clock`` the buses are in the clock ``bus_clk``, with the reset ``bus_rst``. With ``streams`` DMA has the
    streams, and the module has none; else ``packets`` are as of `wrapped`. ``names``: those at its edge.

    ``files`` are the Verilog of all, and ``fabric_NAME_registers.rdl``. Raises `FabricError` as `board_of` and
    `check_counts` do, and `EnvironmentProblem` without PeakRDL.
    """
    board, units, channels = board_of(netlist, bus, streams=streams), len(netlist.units), len(netlist.channels)
    check_counts(units, channels)
    fabric = emit(netlist, probes=False, waits=True, initial_values=initial_values)
    registers = registers_of(board, fabric.hash, units, channels)
    inner = wrapped(fabric.structure, netlist, board, own_clock=own_clock, packets=packets)
    name = f"{fabric.sidecar['module']}_registers"
    top = _top(f"{fabric.sidecar['module']}_board", inner, registers_structure(name, registers), board, names)
    files = {each: text for each, text in fabric.files.items() if each.endswith(".sv")}
    files |= structure_files(inner, initial_values=initial_values)
    files |= {f"{name}.sv": registers_text(name, registers), f"{name}.rdl": rdl_text(name, registers)}
    files |= structure_files(top, initial_values=initial_values)
    short = short_names(files, netlist.graph.name)
    files = {short(each): short(text) for each, text in files.items()}
    return BoardDesign(renamed(fabric, short), files, board, registers, top)


def _top(name: str, inner: Structure, slave: Structure, board: BoardPlan, names: EdgeNames) -> Structure:
    """Wires are called ``run_`` from the control, ``set_`` from the registers, and else as the inner ports are."""
    top, control = Structure(name, names=names), RunControl()
    own = {"clk": names.clock, "rst": names.active(names.reset)}
    bus = {each: names.slave + each.removeprefix("s_axil") for each in slave.ports if each.startswith(AXIL)}
    bus["interrupt"] = "interrupt"
    crossed = {inner.names.bus_clock: names.bus_clock, inner.names.bus_reset: names.bus_reset}
    settings = {f"base_{each.name}": board.beat_bytes for each in board.images}
    settings |= {f"limit_{each.name}": REQUEST * board.beat_bytes for each in board.images if each.limited}
    given = {each: f"{{now_{each}, {unit.bit_length() - 1}'d0}}" for each, unit in settings.items()}
    given |= {"soft_reset": "run_soft_reset", "wait_hold": "run_hold"}
    given["wait_index"] = "set_wait_index_index"
    hidden = {*_READ, *given, "idle", *([FABRIC_RESET] if names.bare else [])}
    outer = (port for port in inner.ports if port not in hidden)
    top.ports |= {crossed.get(port, port): inner.ports[port] for port in outer}
    top.ports |= {bus[each]: port for each, port in slave.ports.items() if each in bus}
    shown: dict[str, str | int] = {**bus, "interrupt": "set_interrupt"}
    shown |= {each: f"set_{each}" for each, (way, _) in slave.ports.items() if way == "output" and each not in bus}
    top.add("registers", Written(slave), shown | _SHOWN | own, "registers, an AXI4-Lite slave")
    ports = {each: each for each in inner.ports if each != "idle"} | given | own
    if names.bus_clock in top.ports:
        ports |= {inner.names.bus_clock: names.bus_clock, inner.names.bus_reset: names.active(names.bus_reset)}
    top.add("axi", Written(inner), ports, "the program behind its masters")
    wires: dict[str, str | int] = {each: f"run_{each}" for each, member, _ in flat_ports(control) if member.flow is Out}
    wires |= _TO_CONTROL
    wires["unit"] = f"{{{UNIT_BITS - inner.ports['fault_unit'][1]}'d0, fault_unit}}"
    wires["moved"] = " | ".join(["wait_moved", *_moves(inner)])
    top.add("control", control, wires, "starts and ends of runs, and the watchdog")
    for name in settings:
        parts = [each for end in _PARTS if (each := f"{name}_{end}") in slave.ports]
        held = HeldSetting(sum(slave.ports[each][1] for each in parts))
        following = ", ".join(f"set_{each}" for each in parts)
        wires = {"takes": "run_takes", "next": f"{{{following}}}", "now": f"now_{name}"}
        top.add(f"held_{name}", held, wires, f"{name} of the run that goes on")
    top.gathered["interrupt"] = ["set_interrupt & ~run_begins"]  # which the register sees a cycle later
    return top


def _moves(inner: Structure) -> list[str]:
    """Transfers of streams, and of data on buses."""
    streams = [each.removesuffix("valid") for each in inner.ports if each.endswith("_tvalid")]
    return ["(|wait_transfers)", *(f"({each}valid & {each}ready)" for each in streams)]
