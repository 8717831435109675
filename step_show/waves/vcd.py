"""Waves of a run as a VCD file: a scope for each operator, in it one for each port, and a counter of cycles."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TextIO

from vcd import VCDWriter
from vcd.writer import Variable

from step_show.waves.ports import ChannelEnd
from step_show.waves.recording import Recording
from step_show.waves.signals import Signal, channel_signals

CYCLE = "cycle"
"""The name of the counter."""

_SIZES = {"wire": 1, "integer": 32, "string": 1}


def write_vcd(file: TextIO, recording: Recording, ports: Sequence[ChannelEnd]) -> None:
    """Write what passed over ``ports`` in the cycles of ``recording``; a cycle is a nanosecond on a viewer's axis.

    A channel between two of the operators is in the scopes of both, with the same identifiers.
    """
    program, first, end = recording.netlist.graph.name, recording.first, recording.end
    writer = VCDWriter(file, timescale="1 ns", date="", init_timestamp=first)

    def add(scope: tuple[str, ...], signal: Signal) -> Variable:
        size = _SIZES[signal.kind]
        variable: Variable = writer.register_var(scope, signal.name, signal.kind, size, signal.initial)
        changes.extend((cycle, variable, value) for cycle, value in signal.changes.items())
        return variable

    changes: list[tuple[int, Variable, int | str]] = []
    add((program,), Signal(CYCLE, "integer", first, {cycle: cycle for cycle in range(first + 1, end)}))
    seen: dict[int, dict[str, Variable]] = {}
    for port in ports:
        scope, index = (program, port.operator, port.name), port.channel.index
        if index in seen:
            for name, variable in seen[index].items():
                writer.register_alias(scope, name, variable)
        else:
            signals = channel_signals(recording.netlist, port.channel, recording.events[port.channel.name], first, end)
            seen[index] = {signal.name: add(scope, signal) for signal in signals}
    for cycle, variable, value in sorted(changes, key=itemgetter(0)):
        writer.change(variable, cycle, value)
    writer.close(end)
