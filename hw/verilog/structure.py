"""A design as instances joined by wires, its text, and its files as other tools want them listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from amaranth.hdl import Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from hw.verilog.modules import Parametric, flat_ports
from step.host.texts import filled

HERE = Path(__file__).parent
"""Folder of the texts that lists are made of."""

SCRIPTS = "synth/synth.ys", "synth/synth.tcl"

FILE_LIST = "fabric.f"
CORE = "fabric.core"
CONSTRAINTS = "fabric.sdc"

LISTS = (FILE_LIST, CORE, CONSTRAINTS, *SCRIPTS)


MEMORY_RESET = "memory_rst"
"""The port of the fabric, and of all units at memory, that is up where memory forgets what it was asked for."""

_BUS = "m_axi"


@dataclass(frozen=True)
class EdgeNames:
    """Names at the edge of a module: clock and reset, those of buses with a clock of their own, and the registers.

    ``low``: resets are active low. ``bare``: there is no port but those of interfaces.
    """

    clock: str = "clk"
    reset: str = "rst"
    bus_clock: str = "bus_clk"
    bus_reset: str = "bus_rst"
    slave: str = "s_axil"
    low: bool = False
    bare: bool = False

    def active(self, reset: str) -> str:
        """Verilog that is true while ``reset`` is active."""
        return f"~{reset}" if self.low else reset


@dataclass(frozen=True)
class Instance:
    """One use of a component.

    ``connections``: port (as in Verilog) to the name of a wire or port of the design, or a constant; an output
    that is not there stays open. ``rst`` is the reset where it is not that of the design. ``comment`` says what it is
    for.
    """

    name: str
    component: Parametric
    connections: dict[str, str | int]
    comment: str


@dataclass
class Structure:
    """``wires`` and ``ports`` have their widths by name; a port also its direction, ``"input"`` or ``"output"``.

    ``gathered``: ports that put Verilog expressions side by side, lowest first; they exist in the text only.
    """

    name: str
    instances: list[Instance] = field(default_factory=list)
    wires: dict[str, int] = field(default_factory=dict)
    ports: dict[str, tuple[str, int]] = field(default_factory=dict)
    gathered: dict[str, list[str]] = field(default_factory=dict)
    names: EdgeNames = EdgeNames()

    @property
    def all_ports(self) -> dict[str, tuple[str, int]]:
        """``ports``, and before them clock and reset."""
        return {self.names.clock: ("input", 1), self.names.reset: ("input", 1), **self.ports}

    @property
    def clocks(self) -> dict[str, str]:
        """The reset of each clock; the second is that of AXI4 buses with a clock of their own."""
        names, found = self.names, {self.names.clock: self.names.reset}
        return found | ({names.bus_clock: names.bus_reset} if names.bus_clock in self.ports else {})

    def clock_of(self, port: str) -> str:
        """The clock of the bus, or of the reset of one, that ``port`` belongs to."""
        return [*self.clocks][-1] if port.startswith((_BUS, self.names.bus_reset)) else self.names.clock

    def add(
        self, name: str, component: Parametric, wires: Mapping[str, str | int], comment: str, outside: str | None = None
    ) -> None:
        """Add an instance whose ports have these ``wires``, which are made where they are not there yet.

        With ``outside`` the other ports are those of the design, whose names begin so.
        """
        ports = ports_of(component)
        connections = {port: wire for port, wire in wires.items() if port in (*ports, "rst")}
        for port, wire in connections.items():
            if isinstance(wire, str) and wire.isidentifier() and wire not in self.all_ports:
                self.wires.setdefault(wire, ports[port][1])
        for port, each in ports.items() if outside is not None else ():
            if port not in connections:
                connections[port] = f"{outside}{port}"
                self.ports[f"{outside}{port}"] = each
        self.instances.append(Instance(name, component, connections, comment))


def ports_of(component: wiring.Component) -> dict[str, tuple[str, int]]:
    """Way, ``"input"`` or ``"output"``, and width of every port."""
    flat = flat_ports(component)
    return {name: ("input" if each.flow is In else "output", len(Value.cast(value))) for name, each, value in flat}


def port_widths(component: wiring.Component) -> dict[str, int]:
    """Width of every port."""
    return {name: width for name, (_, width) in ports_of(component).items()}


def separated(items: Iterable[str]) -> list[str]:
    """Lines of Verilog with a comma behind each but the last."""
    lines = list(items)
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


class Written(Parametric):
    """The module of a structure, whose text is written elsewhere; its clock and reset are ports like others."""

    clocked = False

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        super().__init__(
            {name: Member(In if way == "input" else Out, width) for name, (way, width) in structure.all_ports.items()}
        )

    @property
    def module_name(self) -> str:
        return self.structure.name


@dataclass(frozen=True)
class Interface:
    """A bus of ``kind`` ``axi`` or ``axis``: ports by the standard's name; ``gives``: it begins transfers."""

    name: str
    kind: str
    gives: bool
    ports: dict[str, str]


def interfaces_of(top: Structure) -> list[Interface]:
    """AXI4 masters, the AXI4-Lite slave and streams, in the order of the ports."""
    found = []
    for port, (way, _) in top.ports.items():
        for ending, kind in (("_awvalid", "axi"), ("_tvalid", "axis")):
            if port.endswith(ending):
                name = port.removesuffix(ending)
                known = (each for each in top.ports if each.rpartition("_")[0] == name)  # not those of NAME_OTHER
                ports = {each.removeprefix(f"{name}_").upper(): each for each in known}
                found.append(Interface(name, kind, way == "output", ports))
    return found


def top_text(structure: Structure, *, generic: bool = True) -> str:
    """SystemVerilog of the module that wires everything; ``generic`` as of `ModuleLibrary`."""
    names, lines = structure.names, [f"module {structure.name} ("]
    attributes = _interface_attributes(structure)
    lines += separated(
        f"{attributes.get(name, '')}  {direction} wire {range_text(width)}{name}"
        for name, (direction, width) in structure.all_ports.items()
    )
    lines.append(");")
    lines += [f"  wire {range_text(width)}{name};" for name, width in structure.wires.items()]
    for instance in structure.instances:
        module = instance.component.reference if generic else instance.component.module_name
        reset = instance.connections.get("rst", names.active(names.reset))
        clock: dict[str, str | int] = {"clk": names.clock, "rst": reset} if instance.component.clocked else {}
        lines += ["", f"  // {instance.comment}", f"  {module} {instance.name} ("]
        widths = port_widths(instance.component)
        connections = {**clock, **{port: instance.connections.get(port, "") for port in widths}}
        lines += separated(
            f"    .{port}({net if isinstance(net, str) else _constant(net, widths[port])})"
            for port, net in connections.items()
        )
        lines.append("  );")
    for port, expressions in structure.gathered.items():
        lines += ["", f"  assign {port} = {{"]
        lines += separated(f"    {each}" for each in reversed(expressions))
        lines.append("  };")
    return "\n".join([*lines, "endmodule"]) + "\n"


def _interface_attributes(structure: Structure) -> dict[str, str]:
    """Lines in front of ports that tell Vivado which clock and reset streams and buses have, and which way the reset
    goes."""
    found, level = {}, "LOW" if structure.names.low else "HIGH"
    for clock, reset in structure.clocks.items():
        those = [each.name for each in interfaces_of(structure) if structure.clock_of(each.name) == clock]
        if those:
            told = f"ASSOCIATED_BUSIF {':'.join(those)}, ASSOCIATED_RESET {reset}"
            found[clock] = _attribute("clock", clock, "CLK", told)
            found[reset] = _attribute("reset", reset, "RST", f"POLARITY ACTIVE_{level}")
            found[MEMORY_RESET] = _attribute("reset", MEMORY_RESET, "RST", "POLARITY ACTIVE_HIGH")
    return found


def _attribute(kind: str, port: str, signal: str, told: str) -> str:
    information = f'X_INTERFACE_INFO = "xilinx.com:signal:{kind}:1.0 {port} {signal}"'
    return f'  (* {information}, X_INTERFACE_PARAMETER = "{told}" *)\n'


def _constant(value: int, width: int) -> str:
    return f"{width}'h{value:x}"


def range_text(width: int) -> str:
    """The range of a signal of ``width`` bits, and a space; nothing for one bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


@dataclass(frozen=True)
class BenchFiles:
    """Files that simulate a design: the top module, its files, and files that it reads where it runs."""

    top: str
    files: Sequence[str]
    data: Sequence[str]


def core_files(
    file: str,
    library: str,
    module: str,
    sources: Sequence[str],
    waivers: Sequence[str],
    constraints: Mapping[str, str],
    bench: BenchFiles | None = None,
) -> dict[str, str]:
    """The core of the top ``module``, in ``file``, and what its target ``synth`` runs (`SCRIPTS`), by name.

    Its name is ``step:LIBRARY:MODULE:0``. ``constraints`` are files with their types. Only with a ``bench`` there are
    ``sim`` and ``sim_icarus``.
    """
    source, user = "systemVerilogSource", dict.fromkeys(SCRIPTS, "user")
    sets = [("rtl", dict.fromkeys(sources, source), False), ("waivers", dict.fromkeys(waivers, "vlt"), False)]
    sets += [("constraints", dict(constraints), False), ("synthesis", user, True)]  # copied to where a tool runs
    if bench is not None:
        sets += [
            ("bench", dict.fromkeys(bench.files, source), False),
            ("data", dict.fromkeys(bench.data, "user"), True),
        ]
    name = f"step:{library}:{module}:0"
    kind = "A program as hardware" + (", with AXI4 masters and AXI4-Lite registers" if library == "board" else "")
    told = {"name": name, "description": kind, "module": module, "bench": bench and bench.top}
    text = filled(HERE / "fabric.core.in", filesets=sets, **told)
    # FuseSoC puts the sources below src/ and the name of the core.
    reads = "".join(f"read_verilog -sv src/{name.replace(':', '_')}/{each}\n" for each in sources)
    script = f"{reads}synth_ecp5 -top {module} -json {module}.json\ntee -o area.txt stat\n"
    return {file: text, **dict(zip(SCRIPTS, (script, "yosys script synth.ys\n"), strict=True))}


def file_list_text(sources: Sequence[str]) -> str:
    """A file list, for options such as ``-F``; its names are relative to where it lies."""
    return "".join(f"{source}\n" for source in sources)


def list_files(
    module: str, sources: Sequence[str], waivers: Sequence[str], bench: BenchFiles | None = None
) -> dict[str, str]:
    """All of them for the top ``module`` of a folder, by name."""
    core = core_files(CORE, "fabric", module, sources, waivers, {CONSTRAINTS: "SDC"}, bench)
    return {FILE_LIST: file_list_text(sources), CONSTRAINTS: (HERE / CONSTRAINTS).read_text(), **core}
