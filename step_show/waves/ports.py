"""The ports of chosen operators, with the channels behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from step.errors import InputError
from step.host.names import unknown
from step.language.graph import Node
from step.lowering.netlist import Channel, Netlist


@dataclass(frozen=True)
class ChannelEnd:
    """One end of ``channel``: input ``in0``, ``in1``, ... or output ``out``, ``out_padding``, ... of ``operator``."""

    operator: str
    name: str
    channel: Channel


def ports(netlist: Netlist, operators: Sequence[str]) -> list[ChannelEnd]:
    """The inputs, then the outputs, of each of ``operators``; without any, of all in the order of the program.

    An output that nobody reads has no channel, and is left out. Raises `InputError` for names that no operator has.
    """
    units = {node.name: node for node in netlist.units}
    for name in operators:
        if name not in units:
            raise InputError(unknown("operator", name, units))
    return [port for name in operators or units for port in _ports(netlist, units[name])]


def _ports(netlist: Netlist, node: Node) -> list[ChannelEnd]:
    names = node.input_ports + node.output_ports
    found = zip(names, [*netlist.inputs(node), *netlist.outputs(node)], strict=True)
    return [ChannelEnd(node.name, name, channel) for name, channel in found if channel is not None]
