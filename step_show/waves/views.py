"""Save files with which viewers open waves at the channels of chosen operators: GTKWave's and Surfer's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TextIO

from vcd.gtkw import GTKWSave

from step_show.waves.ports import ChannelEnd
from step_show.waves.recording import Recording
from step_show.waves.vcd import CYCLE

OPENED = ("token", "word", "front", "leaves", "level")
"""Signals of a port that are opened; the others are found in the viewer's tree."""

_TEXTS = ("token", "front")
_ZOOM = -1.0  # 200 pixels for two cycles: a token's text can be read


def write_gtkwave(file: TextIO, waves: Path, recording: Recording, ports: Sequence[ChannelEnd]) -> None:
    """Write a save file (.gtkw) that opens ``waves`` at their first cycle, with a group for each operator."""
    program = recording.netlist.graph.name
    save = GTKWSave(file)
    save.dumpfile(str(waves))
    save.savefile(str(waves.with_suffix(".gtkw")))
    save.timestart(recording.first)
    save.zoom_markers(_ZOOM, recording.first)
    save.size(1600, 900)
    save.signals_width(300)
    save.treeopen(program)
    save.trace(f"{program}.{CYCLE}", CYCLE, datafmt="dec")
    for operator, group in groupby(ports, attrgetter("operator")):
        with save.group(operator):
            for port in group:
                slots = recording.result.channels[port.channel.name].capacity
                save.blank(f"{port.name}: {port.channel.name}, {slots} slots")
                for name in OPENED:
                    datafmt = "ascii" if name in _TEXTS else "dec"
                    save.trace(f"{program}.{operator}.{port.name}.{name}", f"{port.name} {name}", datafmt=datafmt)


def write_surfer(file: TextIO, waves: Path, recording: Recording, ports: Sequence[ChannelEnd]) -> None:
    """Write a command file (.sucl) that opens ``waves``, with a divider for each port."""
    program = recording.netlist.graph.name
    lines = [f"load_file {waves.absolute()}", f"variable_add {program}.{CYCLE}"]
    for port in ports:
        lines.append(f"divider_add {port.operator}.{port.name}")
        lines += [f"variable_add {program}.{port.operator}.{port.name}.{name}" for name in OPENED]
    file.write("\n".join([*lines, "zoom_fit"]) + "\n")
