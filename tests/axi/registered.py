"""Programs with registers, in a simulator with a host that has nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boards import Run, Wrapped
from programs import BUS, FABRIC, kept_rows, row_data

from cosim.board.failing import waits_of
from hw.registers.wrapper import board_design
from hw.verilog.structure import Structure
from step.language.graph import Graph
from step.lowering.registers import PATIENCE
from step.running.deadlock import Blockage

DONE, FAULT, WATCHDOG = 1, 2, 4
DATA = 100
"""Inputs of the shared board, all different; the next ones are below."""

DEADLOCK, SHORT = DATA, DATA + 1
"""A row too long for its channel, and one tile."""


@dataclass(frozen=True)
class Started(Run):
    """``again``: a second start and other bases during the run; ``dead``: memory does not answer; ``without_done``: a
    source that keeps its last token; ``unread``: a sink that takes none; ``stop``: the cycle in which a reset ends it;
    ``limits``: bytes that sinks may write, where they are fewer than there are."""

    watchdog: int = PATIENCE
    again: bool = False
    dead: bool = False
    without_done: str = ""
    unread: str = ""
    limits: dict[str, int] = field(default_factory=dict)


class Registered(Wrapped):
    """A program with registers."""

    bench = "registers_bench"

    def _emit(self, design: Path) -> Structure:
        own_clock = self.bus_period is not None
        made = board_design(self.netlist, self.bus, own_clock=own_clock, streams=self.streams, initial_values=False)
        design.mkdir()
        made.fabric.write(design)
        for name, text in made.files.items():
            (design / name).parent.mkdir(exist_ok=True)
            (design / name).write_text(text)
        self.registers, self.hash = made.registers, made.fabric.hash
        return made.top

    def play(self, *runs: Any, **more: Any) -> list[dict[str, Any]]:
        addresses = {each.name: each.address for each in self.registers}
        return super().play(*runs, registers=addresses, **more)

    def field(self, played: dict[str, Any], register: str, field: str) -> int:
        (found,) = (each for each in self.registers if each.name == register)
        (place,) = (each for each in found.fields if each.name == field)
        return played["registers"][register] >> place.low & ((1 << place.width) - 1)

    def waits(self, played: dict[str, Any]) -> list[Blockage]:
        return waits_of(self.netlist, played["waits"])

    def check_error(self, run: Run, played: dict[str, Any]) -> None:
        """The fault names the port, and so the image, and the address of the beat that met the error of ``run``."""
        assert self.field(played, "fault", "code") == self.field(played, "memory_fault", "code")
        address = played["registers"]["memory_fault_low"] | played["registers"]["memory_fault_high"] << 32
        code, port = (self.field(played, "memory_fault", each) for each in ("code", "port"))
        self.check_fault(run, played, code, port, address)

    def keeps(self, run: Started, played: dict[str, Any]) -> bool:
        """Whether all memory is as it was, but what may be written."""
        memory = bytes.fromhex(played["memory"])
        before = bytearray(self._contents(run.data, self._base, len(memory)))
        for port in self.board.ports:
            if port.writes:
                name = self.board.images[port.image].name
                at, room = self.bases[name] - self._base, run.limits.get(name, self.sizes[name])
                before[at : at + room] = memory[at : at + room]
        return memory == before


def kept_board(directory: Path, simulator: str, bus_period: int | None = None) -> Registered:
    """`kept_rows`, with inputs of other lengths and values each."""
    graph = Graph("kept")
    kept_rows(graph)
    inputs = [row_data(at, [(at + 1) % 3, at // 3 % 3, at // 9 % 3, 1][: 1 + at % 4] or [1]) for at in range(DATA)]
    inputs += [row_data(DEADLOCK, [1, 7]), row_data(SHORT, [1])]
    return Registered(graph, FABRIC, BUS, directory, *inputs, simulator=simulator, bus_period=bus_period)
