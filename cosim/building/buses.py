"""Buses in the bench of a fabric behind masters: `verilog/sim_axi.sv` on every one."""

from __future__ import annotations

from cosim.building.design import BenchDesign, SharedBuses

_READ = {"ar": ("addr", "len", "valid", "ready"), "r": ("data", "last", "valid", "ready")}
_WRITE = {
    "aw": ("addr", "len", "valid", "ready"),
    "w": ("data", "strb", "last", "valid", "ready"),
    "b": ("valid", "ready"),
}
_READ_PORT = "request", "request_valid", "request_ready", "response", "response_valid"
_WRITE_PORT = "write", "write_valid", "write_ready", "written"


def buses(design: BenchDesign, shared: SharedBuses) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines of the buses, and the connections of the fabric with them."""
    parameters = f".BYTES({design.memory['beat_bytes']}), .BUS({shared.bytes}), .ADDRESS({shared.address_bits})"
    widths = {"addr": shared.address_bits, "len": 8, "data": 8 * shared.bytes, "strb": shared.bytes}
    lines, connections = list[str](), [("soft_reset", "1'b0"), ("fabric_reset", "rst")]
    for kind, channels, ports, constant, numbers in (
        ("read", _READ, _READ_PORT, ("rid", "rresp"), shared.reads),
        ("write", _WRITE, _WRITE_PORT, ("bid", "bresp"), shared.writes),
    ):
        names = [(f"{channel}{part}", widths.get(part, 1)) for channel, parts in channels.items() for part in parts]
        for at, number in enumerate(numbers):
            bus = f"m_axi{number}_"
            wired = [f".{name}({bus}{name})" for name, _ in names] + [f".{each}({each}[{at}])" for each in ports]
            lines += [f"    wire [{width - 1}:0] {bus}{name};" for name, width in names]
            lines += [f"    sim_axi_{kind} #({parameters}) {kind}{number} (.clk, .rst,"]
            lines += [f"        {', '.join(wired)}", "    );"]
            connections += [(f"{bus}{name}", f"{bus}{name}") for name, _ in names]
            connections += [(f"{bus}{name}", "'0") for name in constant]  # one ID, and no errors
    count = len(design.reads) + len(design.writes)
    lines += [
        f"    wire [{count - 1}:0] probe_taken;",
        f"    wire [{max(1, len(shared.writes)) - 1}:0] probe_masters;",
        "    wire probe_writing = |probe_masters;",
        f"    sim_taken #(.PORTS({count})) taken (.clk, .rst, .running, .taken(probe_taken));",
        "",
    ]
    connections += [("probe_taken", "probe_taken"), ("probe_writing", "probe_masters")]
    connections += [(f"base_{name}", f"{shared.address_bits}'d{base}") for name, base in shared.images.items()]
    return lines, connections
