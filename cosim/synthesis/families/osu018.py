"""Standard cells of an ASIC: those of Oklahoma State University in 180 nm, by Yosys and OpenSTA."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosim.building.steps import failed
from cosim.building.toolchain import HINTS
from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import NETLIST, CellFamily, Timing
from cosim.synthesis.jobs import Stop, kept
from cosim.synthesis.macros import Macro, Macros
from cosim.synthesis.surround import TOP
from step.errors import EnvironmentProblem, SettingError, expect
from step.host.builds import content_key
from step.host.files import tool_environment
from step.host.process import how_ended, run_logged

LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
"""Where Debian's package has the library."""

DEEP = 64
"""Words up to which a memory is flip-flops."""

DEAR = 10**9
"""Cost of a bit of flip-flops where a macro would do: always one is taken."""

_CELLS, _LOADS = "cells.lib", "osu018.constr"
_MACROS, _RULES = "macros.lib", "macros.txt"
_PERIOD = 1000.0
"""Nanoseconds of the clock that no path misses: what it takes less is how long the slowest is."""

_TIMING = f"""\
read_verilog {NETLIST}.v
link_design {TOP}
create_clock -name clk -period {_PERIOD:g} [get_ports clk]
report_checks -path_delay max -from [all_registers -clock_pins] -to [all_registers -data_pins]
"""


@dataclass(frozen=True)
class StandardCells(Cells):
    """Cells, flip-flops among them, bits of SRAM, and the area of cells and ``macros``, of which there are so many by
    name, in square micrometres. Without macros there is no area of SRAM."""

    cells: int = 0
    registers: int = 0
    sram_bits: int = 0
    square_micrometres: int = 0
    macros: Counter[str] = field(default_factory=Counter)

    @property
    def columns(self) -> dict[str, int]:
        counted = {"cells": self.cells, "FF": self.registers, "SRAM bits": self.sram_bits}
        return {**counted, "um^2": self.square_micrometres}

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "macros": dict(self.macros)}


@dataclass(frozen=True)
class Osu018(CellFamily[StandardCells]):
    """The cells of the file ``liberty``; memories of few words are flip-flops, others SRAM. Clocks are those before
    placement, without wires.

    With ``macros`` memories that are read with a clock are instances of these, with paths to and from them, and all
    others are flip-flops; without, SRAM is bits, and no path goes through it.
    """

    liberty: Path = LIBERTY
    macros: Macros | None = None

    name = "osu018"
    nothing = StandardCells()
    title = "in osu018 cells"
    untimed = f"sta not found: {HINTS['sta']}"
    initial_values = False

    @property
    def libraries(self) -> Mapping[str, Path | str]:
        """Liberty files, by the names that the tools know them by."""
        return {_CELLS: self.liberty, **({} if self.macros is None else {_MACROS: self.macros.liberty})}

    @property
    def files(self) -> Mapping[str, Path | str]:
        rules = {} if self.macros is None else {_RULES: self.macros.rules}
        return {**self.libraries, **rules, _LOADS: Path(__file__).with_name(_LOADS)}

    @property
    def statistics(self) -> str:
        return f"stat -json {' '.join(f'-liberty {each}' for each in self.libraries)}"

    @property
    def runs(self) -> Sequence[str]:
        return ["the slowest path"] if shutil.which("sta") else []

    def prepare(self, top: str) -> str:
        taken = "" if self.macros is None else f"memory_libmap -lib {_RULES} -logic-cost-ram {DEAR}; memory_map; "
        return (
            f"synth -top {top} -flatten -run begin:fine; opt -fast -full; memory_map -rom-only; "
            f"memory_map t:$mem_v2 r:SIZE>{DEEP} %d a:ram_style=block %d; {taken}"
            "opt -undriven -fine; techmap; opt -fast"
        )

    def finish(self, top: str) -> str:
        return f"dfflibmap -liberty {_CELLS}; abc -liberty {_CELLS} -constr {_LOADS}; opt_clean; memory_unpack"

    def join(self, top: str) -> str:
        cells = "".join(f"read_liberty -lib {each}; " for each in self.libraries)
        return (
            f"hierarchy -top {top}; proc; flatten; opt_clean; techmap; opt -fast; {self.finish(top)}; "
            f"tee -q -o area.json {self.statistics}; delete t:$mem* m:*; setundef -zero -undriven; "
            f"{cells}rename -wire; write_verilog -noattr -noexpr -simple-lhs {NETLIST}.v"
        )

    def read(self, statistics: Mapping[str, Any]) -> StandardCells:
        there = self._sram
        cells = {name: count for name, count in statistics["num_cells_by_type"].items() if not name.startswith("$")}
        macros = Counter({name: cells.pop(name) for name in there if name in cells})
        return StandardCells(
            sum(cells.values()),
            sum(count for name, count in cells.items() if name.startswith("DFF")),
            statistics["num_memory_bits"] + sum(count * there[name].size for name, count in macros.items()),
            round(statistics.get("area", 0)),
            macros,
        )

    def notes(self, area: StandardCells) -> Iterator[str]:
        for name, count in sorted(area.macros.items()):
            yield f"SRAM: {count:,} {name} of {self._sram[name].size:,} bits"

    @property
    def _sram(self) -> Mapping[str, Macro]:
        return {} if self.macros is None else {each.name: each for each in self.macros.macros}

    def time(self, netlist: Path, run: str, identity: str, stop: Stop) -> Timing:
        commands = "".join(f"read_liberty {each}\n" for each in self.libraries) + _TIMING
        name = f"timing-{content_key([identity, netlist.name, commands])}"

        def make(directory: Path) -> None:
            (directory / "timing.tcl").write_text(commands)
            log = directory / "timing.log"
            command = ["sta", "-no_splash", "-exit", "timing.tcl"]
            status = run_logged(command, log, directory=directory, environment=tool_environment(), poll=stop.check)
            if status != 0 or "Error" in log.read_text():
                raise failed(f"sta failed ({how_ended(status)})", log, name)

        source = f"{NETLIST}.v"
        timed = kept(name, make, stop, {source: netlist / source, **self.libraries})
        return _read_report((timed / "timing.log").read_text())

    def check(self) -> str:
        """`CellFamily.check`, and whether the library is there and whole."""
        expect(self.liberty.is_file(), f"{self.liberty} not found: {HINTS['osu018']}", EnvironmentProblem)
        text = self.liberty.read_text(errors="replace")
        if "library" not in text or text.count("{") != text.count("}"):
            raise SettingError(f"{self.liberty} is no Liberty file, or cut off: it must be library (..) {{..}}")
        return super().check()


def _read_report(text: str) -> Timing:
    """The clock, and the cells of the slowest path, of what OpenSTA prints."""
    slack = float(re.findall(r"^ +(\S+) +slack", text, re.MULTILINE)[0])
    return Timing(round(1000 / (_PERIOD - slack), 2), tuple(re.findall(r"^ .* [\^v] (\S+)/\S+ \(", text, re.MULTILINE)))
