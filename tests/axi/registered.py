"""Programs behind registers, in a simulator with a host that knows these (`registers_bench`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boards import Run, Wrapped

from hw.registers.wrapper import board_design
from hw.verilog.structure import Structure
from step.lowering.registers import PATIENCE


@dataclass(frozen=True)
class Started(Run):
    """``again``: a second start and other bases during the run; ``dead``: memory does not answer; ``without_done``: a
    source that keeps its last token; ``stop``: the cycle in which a reset ends it; ``limits``: bytes that sinks may
    write, where they are fewer than there are."""

    watchdog: int = PATIENCE
    again: bool = False
    dead: bool = False
    without_done: str = ""
    limits: dict[str, int] = field(default_factory=dict)


class Registered(Wrapped):
    """A program with registers."""

    bench = "registers_bench"

    def _emit(self, design: Path) -> Structure:
        made = board_design(self.netlist, self.bus, streams=self.streams, initial_values=False)
        design.mkdir()
        made.fabric.write(design)
        for name, text in made.files.items():
            (design / name).parent.mkdir(exist_ok=True)
            (design / name).write_text(text)
        self.registers, self.hash = made.registers, made.fabric.hash
        return made.top

    def play(self, *runs: Any, **more: Any) -> list[dict[str, Any]]:
        addresses = {each.name: each.address for each in self.registers}
        limits = {each.name: self.sizes[each.name] for each in self.board.images if each.limited}
        return super().play(*runs, registers=addresses, limits=limits, **more)

    def field(self, played: dict[str, Any], register: str, field: str) -> int:
        (found,) = (each for each in self.registers if each.name == register)
        (place,) = (each for each in found.fields if each.name == field)
        return played["registers"][register] >> place.low & ((1 << place.width) - 1)

    def waits(self, played: dict[str, Any]) -> set[tuple[str, str, str]]:
        """Who waits for whom, by name, and why."""
        names = [each.name for each in self.netlist.units]
        return {
            (names[edge >> 4 & 0xFFF], names[edge >> 16], "starved" if edge & 1 else "blocked")
            for edge in played["waits"]
            if edge & 3
        }
