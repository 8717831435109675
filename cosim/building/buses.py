"""What the bench of a fabric behind masters has besides: `verilog/sim_axi.sv` on every bus."""

from __future__ import annotations

from cosim.building.design import Design, SharedBuses

_READ = {"ar": ("addr", "len", "valid", "ready"), "r": ("data", "last", "valid", "ready")}
_WRITE = {
    "aw": ("addr", "len", "valid", "ready"),
    "w": ("data", "strb", "last", "valid", "ready"),
    "b": ("valid", "ready"),
}
_TAKEN = ("rid", "rresp", "bid", "bresp")
"""Inputs of a master that are 0: one ID, and no errors."""


def buses(design: Design, shared: SharedBuses) -> tuple[list[str], list[tuple[str, str]]]:
    """The lines of the buses, and the connections of the fabric with them."""
    parameters = f".BYTES({design.memory['beat_bytes']}), .BUS({shared.bytes}), .ADDRESS({shared.address_bits})"
    widths = {"addr": shared.address_bits, "len": 8, "data": 8 * shared.bytes, "strb": shared.bytes}
    lines, connections = list[str](), [("soft_reset", "1'b0"), ("fabric_reset", "rst")]
    for kind, channels, numbers in (("read", _READ, shared.reads), ("write", _WRITE, shared.writes)):
        for at, number in enumerate(numbers):
            names = [(channel, part) for channel, parts in channels.items() for part in parts]
            bus = f"m_axi{number}_"
            for channel, part in names:
                lines.append(f"    wire [{widths.get(part, 1) - 1}:0] {bus}{channel}{part};")
                connections.append((f"{bus}{channel}{part}", f"{bus}{channel}{part}"))
            ports = [f".{channel}{part}({bus}{channel}{part})" for channel, part in names]
            if kind == "read":
                ports += [f".{each}({each}[{at}])" for each in ("request", "request_valid", "request_ready")]
                ports += [f".{each}({each}[{at}])" for each in ("response", "response_valid")]
            else:
                ports += [f".{each}({each}[{at}])" for each in ("write", "write_valid", "write_ready", "written")]
            lines += [
                f"    sim_axi_{kind} #({parameters}) {kind}{number} (.clk, .rst,",
                f"        {', '.join(ports)}",
                "    );",
            ]
            connections += [
                (f"{bus}{each}", "'0") for each in _TAKEN if each[0] == kind[0] or (kind, each[0]) == ("write", "b")
            ]
    ports = len(design.reads) + len(design.writes)
    lines += [
        f"    wire [{ports - 1}:0] probe_taken;",
        f"    wire [{max(1, len(shared.writes)) - 1}:0] probe_masters;",
        "    wire probe_writing = |probe_masters;",
        f"    sim_taken #(.PORTS({ports})) taken (.clk, .rst, .running, .taken(probe_taken));",
        "",
    ]
    connections += [("probe_taken", "probe_taken"), ("probe_writing", "probe_masters")]
    connections += [(f"base_{name}", f"{shared.address_bits}'d{base}") for name, base in shared.images.items()]
    return lines, connections
