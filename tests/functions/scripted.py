"""Plays datapaths that take words as they come: what goes in and has to come out, cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import playing
from driving import drive
from verilated import Verilated

from hw.functions.datapath import Datapath
from step.language.types import Tile


def to_words(value: Any, element: Tile, link_bytes: int) -> list[int]:
    """The words of a tile, as on a link."""
    number, bits = playing.to_int(value, element), element.bits
    width = min(8 * link_bytes, bits)
    return [number >> at & ((1 << width) - 1) for at in range(0, bits, width)]


class Script:
    """What goes into ``path`` at a cycle, by port, and what has to be on ``result`` at another one.

    Ports of one bit are 0 where nothing is said, operands all ones.
    """

    def __init__(self, path: Datapath) -> None:
        self.path = path
        self.given: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self.wanted: dict[int, tuple[int, int]] = {}

    def give(self, cycle: int, **ports: int) -> None:
        """Put values on ports."""
        for name, value in ports.items():
            self.given[name][cycle] = int(value)

    def operand(self, port: int, cycle: int, value: Any, element: Tile, link_bytes: int) -> None:
        """The words of a tile, from ``cycle`` on."""
        for at, word in enumerate(to_words(value, element, link_bytes)):
            self.give(cycle + at, **{f"operand{port}": word})

    def result(self, cycle: int, value: Any, element: Tile, link_bytes: int) -> None:
        """What went in at ``cycle`` becomes this tile, a latency later."""
        left = element.bits
        for at, word in enumerate(to_words(value, element, link_bytes)):
            here = cycle + self.path.latency + at
            assert here not in self.wanted
            self.wanted[here] = word, (1 << min(left, 8 * link_bytes)) - 1
            left -= 8 * link_bytes

    def wrong(self, program: Verilated | None = None) -> list[int]:
        """Cycles with wrong results, in Amaranth's simulator or in Verilator."""
        cycles = max(self.wanted) + 1
        got = self._in_amaranth(cycles) if program is None else self._in_verilator(program, cycles)
        return [at for at, (want, mask) in self.wanted.items() if (got[at] ^ want) & mask]

    def _ports(self) -> list[tuple[str, int, int]]:
        """Name, width, and what is there where nothing is said."""
        names = (path[0] for path, _, _ in self.path.signature.flatten(self.path))
        widths = {name: len(getattr(self.path, name)) for name in names if name != "result"}
        return [(name, width, (1 << width) - 1 if "operand" in name else 0) for name, width in widths.items()]

    def _in_amaranth(self, cycles: int) -> list[int]:
        got = []

        async def bench(ctx: Any) -> None:
            for cycle in range(cycles):
                for name, _, idle in self._ports():
                    ctx.set(getattr(self.path, name), self.given[name].get(cycle, idle))
                got.append(ctx.get(self.path.result))
                await ctx.tick()

        drive(self.path, bench)
        return got

    def _in_verilator(self, program: Verilated, cycles: int) -> list[int]:
        rows = {
            name: np.array([playing.to_words(self.given[name].get(at, idle), width) for at in range(cycles)])
            for name, width, idle in self._ports()
        }
        return [int.from_bytes(row.tobytes(), "little") for row in program.run(rows)["result"]]
