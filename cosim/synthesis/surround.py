"""Designs to measure a clock with: a unit between channels, and any design behind four pins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from amaranth.hdl import Value
from amaranth.lib.wiring import In

from hw.links.channel import ChannelFifo
from hw.links.layout import Format
from hw.verilog.modules import Parametric, flat_ports
from hw.verilog.structure import Instance, Structure, port_widths, top_text
from step.host.texts import filled

DEPTH = 2
"""Slots of the channels around a unit."""

LONGEST = 256
"""Bits of a shift register between pins and ports."""

TOP = "pins"
"""The module of `behind_pins`; it has the design in the instance ``design``."""

_CHANNEL_PORT = re.compile(r"((input|output)(\d+))__(\w+)")


def between_channels(
    component: Parametric, inputs: Sequence[Format], outputs: Sequence[Format], hops: Mapping[str, int]
) -> Structure:
    """``component``, a unit, with a channel in front of each of its ``inputs`` and one behind each of ``outputs``;
    ``hops`` are those of the channels by the ports of the unit.

    The instance of the unit is called ``unit``, those of the channels ``before_input0``, ``behind_output0``, ...
    """
    structure = Structure(f"around_{component.module_name}")
    connections: dict[str, str | int] = {}
    channels: dict[str, ChannelFifo] = {}
    widths = port_widths(component)
    for name, member, _ in flat_ports(component):
        match = _CHANNEL_PORT.fullmatch(name)
        if match:
            connections[name] = f"{match[1]}_{match[4]}"
            structure.wires[f"{match[1]}_{match[4]}"] = widths[name]
            format = (inputs if match[2] == "input" else outputs)[int(match[3])]
            spare = component.spare(int(match[3])) if match[2] == "input" and hasattr(component, "spare") else 0
            channels[f"{match[2]}{match[3]}"] = ChannelFifo(format, DEPTH, spare, hops=hops[match[1]])
        else:
            connections[name] = name
            structure.ports[name] = ("input" if member.flow is In else "output", widths[name])
    structure.instances.append(Instance("unit", component, connections, "the unit"))
    for port, channel in channels.items():
        inner, place = ("o", "before") if port.startswith("input") else ("i", "behind")
        wired: dict[str, str | int] = {}
        for name, member, value in flat_ports(channel):
            side, _, part = name.partition("__")
            wired[name] = f"{port}_{part}" if side == inner else f"{place}_{port}_{part}"
            if side != inner:
                structure.ports[f"{place}_{port}_{part}"] = (
                    "input" if member.flow is In else "output",
                    len(Value.cast(value)),
                )
        structure.instances.append(Instance(f"{place}_{port}", channel, wired, f"{place} {port}"))
    return structure


def _shift(register: str, number: int, width: int, enters: str) -> str:
    """The next bits of shift register ``number`` in ``register``, of ``width`` bits in all."""
    first, last = number * LONGEST, min((number + 1) * LONGEST, width) - 1
    return enters if first == last else f"{register}[{last - 1}:{first}], {enters}"


def behind_pins(structure: Structure) -> str:
    """Verilog of ``structure`` with shift registers for its inputs, and some that its outputs are mixed into.

    So any design can be placed, however many ports it has, and all its ports have registers. A shift register has
    `LONGEST` bits at most: Yosys follows it from end to end, a call deeper for every bit.
    """
    ports, at = list[tuple[str, str, int, int]](), {"input": 0, "output": 0}
    for name, (way, width) in structure.ports.items():
        ports.append((name, way, at[way], width))
        at[way] += width
    inputs, outputs = max(1, at["input"]), max(1, at["output"])
    enters, leaves = -(-inputs // LONGEST), -(-outputs // LONGEST)
    return filled(
        Path(__file__).parent / "text" / "pins.sv.in",
        **{"design": top_text(structure, generic=False), "name": structure.name, "top": TOP, "ports": ports},
        **{"inputs": inputs, "outputs": outputs, "enters": enters, "leaves": leaves},
        shifts=[_shift("inputs", each, inputs, f"enter[{each}]") for each in range(enters)],
        mixes=[_shift("line", each, outputs, f"enter[{each % enters}]") for each in range(leaves)],
        ends=[f"line[{min((each + 1) * LONGEST, outputs) - 1}]" for each in reversed(range(leaves))],
    )
