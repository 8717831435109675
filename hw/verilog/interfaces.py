"""The interfaces of a top module: which of its ports belong together."""

from __future__ import annotations

from dataclasses import dataclass

from hw.verilog.structure import Structure


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
                ports = {
                    each.removeprefix(f"{name}_").upper(): each for each in top.ports if each.startswith(f"{name}_")
                }
                found.append(Interface(name, kind, way == "output", ports))
    return found
