"""Timing diagrams of units, drawn from a run of their hardware; docs/units.md shows them.

``PYTHONPATH=tests:tests/hw python -m timing_diagrams`` writes them out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.sim import Simulator
from reading_waves import VCDVCD

from hw.fabric import elaborate
from hw.firing.unit import join
from step.functions.elementwise import Add
from step.functions.exp import Exp
from step.language.dtypes import BF16
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower

FABRIC = FabricConfig(link_bytes=8, vector_lanes=2, stages=2)
CYCLES = 24


@dataclass(frozen=True)
class Row:
    """A line of a diagram: ``signal`` is 1 for ``count`` cycles per element, which is called by the next letter."""

    label: str
    signal: str
    count: int = 1
    letters: str = "ABCD"

    def drawn(self, values: list[int]) -> str:
        """The line with ``values`` by cycle."""
        cells, seen = [], 0
        for value in values:
            number = str(seen % self.count) if self.count > 1 else ""
            cells.append(f"{self.letters[seen // self.count]}{number}" if value else ".")
            seen += value
        return f"{self.label:<16}" + "".join(f"{each:<3}" for each in cells).rstrip()


def map_netlist() -> Netlist:
    """The exponential of tiles of two words, two scalars a cycle: four groups, which are no words."""
    graph = Graph("mapped")
    graph.source("x", Tile(BF16, 2, 4), [2]).map(Exp()).sink("y")
    return lower(graph, FABRIC)


def accum_netlist() -> Netlist:
    """The sums of two tiles each."""
    graph = Graph("summed")
    graph.source("x", Tile(BF16, 2, 4), [2, 2]).accum(Add(BF16)).sink("y")
    return lower(graph, FABRIC)


def rows(results: str) -> list[Row]:
    """The lines of a unit, from which ``results`` come."""
    return [
        Row("header in", "header_in"), Row("word in", "words_in", 2), Row("group read", "group_active", 4),
        Row("group enters", "enters_1", 4), Row("result valid", "arrives", 4),
        Row("header out", "header_out", 1, results), Row("word out", "word_active", 2, results),
    ]  # fmt: skip


def diagrams() -> dict[str, str]:
    """Each by its title."""
    made = {
        "Map with a `VectorPlan`": (map_netlist(), [0, 1], "AB"),
        "Accum with a `VectorPlan`": (accum_netlist(), [0, 1, 0, 1], "ST"),
    }
    return {title: _diagram(waves(netlist, stops), rows(results)) for title, (netlist, stops, results) in made.items()}


def _diagram(signals: dict[str, list[int]], lines: list[Row]) -> str:
    head = f"{'cycle':<16}" + "".join(f"{cycle:<3}" for cycle in range(CYCLES)).rstrip()
    return "\n".join([head, *(each.drawn(signals[each.signal]) for each in lines)])


def waves(netlist: Netlist, stops: list[int]) -> dict[str, list[int]]:
    """The signals by cycle, by name, of the second unit, to which values with ``stops`` come as early as they may."""
    fabric = elaborate(netlist)
    before, unit, behind = fabric.channels[0].component, fabric.units[1].component, fabric.channels[1].component
    m = Module()
    m.submodules.before, m.submodules.unit, m.submodules.behind = before, unit, behind
    join(m, before.o, unit.input0)
    join(m, unit.output0, behind.i)
    m.d.comb += [behind.o.ready.eq(1), behind.o.drop.eq(behind.o.valid), behind.o.open.eq(behind.o.valid)]
    words = fabric.channels[0].format.words
    seen: dict[str, list[int]] = {name: [] for name in ("header_in", "header_out")}

    async def bench(ctx: Any) -> None:
        due: dict[int, int] = {}
        left, pause = list(stops), 0
        for cycle in range(CYCLES):
            goes = bool(left) and pause == 0 and ctx.get(before.i.space)
            ctx.set(before.i.claim, goes)
            ctx.set(before.i.valid, goes)
            ctx.set(before.i.word, due.get(cycle, 0))
            pause = max(0, pause - 1)
            if goes:
                header = before.i.header
                ctx.set(Value.cast(header), 0)
                ctx.set(header.value, 1)
                ctx.set(header.stop, left.pop(0))
                pause = words - 1
                due |= {cycle + 1 + at: 0x3F80_3F80_3F80_3F80 for at in range(words)}
            seen["header_in"].append(ctx.get(unit.input0.valid & unit.input0.ready & unit.input0.header.value))
            seen["header_out"].append(ctx.get(unit.output0.valid & unit.output0.header.value))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "waves.vcd"
        with simulator.write_vcd(str(path)):
            simulator.run()
        vcd = VCDVCD(str(path))
    found = seen | dict(_signals(vcd))
    found["words_in"] = [start | before for start, before in zip(found["start"], [0, *found["start"]], strict=False)]
    found["arrives"] = found[max(name for name in found if name.startswith("arrives_"))]
    return found


def _signals(vcd: Any) -> Iterator[tuple[str, list[int]]]:
    """The signals of the datapath, of one bit, in the middle of every cycle."""
    period = 10**9  # fs
    for name in vcd.signals:
        if ".datapath.shared." in name and vcd[name].size == "1":
            values = [vcd[name][cycle * period + period // 4] for cycle in range(CYCLES)]
            yield name.rpartition(".")[2], [int(each == "1") for each in values]


if __name__ == "__main__":
    for title, text in diagrams().items():
        sys.stdout.write(f"{title}\n\n{text}\n\n")
