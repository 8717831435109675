"""Plays datapaths: what goes in and has to come out, cycle by cycle."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from driving import played
from verilated import Verilated

from hw.functions.datapath import Datapath
from hw.links.layout import TokenFormat
from hw.links.packing import pack_words
from step.language.types import ElementType
from step.lowering.fabric import FabricConfig

GAPS = [[0], [0, 0, 3, 0, 1, 7]]
"""Elements back to back, and with cycles between them, in turn."""


def of_link(element: ElementType, link_bytes: int) -> TokenFormat:
    """The format of ``element`` on a link."""
    return TokenFormat.element(0, element, FabricConfig(link_bytes=link_bytes))


def as_row(number: int, bits: int) -> np.ndarray:
    """The bits of a port, as words of 32."""
    return np.frombuffer(number.to_bytes(-(-bits // 32) * 4, "little"), "<u4")


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

    def operand(self, port: int, cycle: int, value: Any, element: ElementType, link_bytes: int, stays: int = 1) -> None:
        """The words of an element, from ``cycle`` on; control ``stays`` for so many cycles."""
        format = of_link(element, link_bytes)
        for at, word in enumerate(pack_words(value, element, format) * (stays if format.control else 1)):
            self.give(cycle + at, **{f"operand{port}": word})

    def result(self, cycle: int, value: Any, element: ElementType, link_bytes: int) -> None:
        """What went in at ``cycle`` becomes this element, a latency later."""
        format = of_link(element, link_bytes)
        *whole, last = pack_words(value, element, format)
        padding = 0 if format.control else format.item_words[-1] * format.word_bits - format.items[-1]
        for at, word in enumerate([*whole, last]):
            here, bits = cycle + self.path.latency + at, format.edge_bits - (padding if at == len(whole) else 0)
            assert here not in self.wanted
            self.wanted[here] = word, (1 << bits) - 1

    def wrong(self, program: Verilated | None = None) -> list[int]:
        """Cycles with wrong results, in Amaranth's simulator or in Verilator."""
        assert self.wanted, "nothing left"
        cycles = max(self.wanted) + 1
        got = self._in_amaranth(cycles) if program is None else self._in_verilator(program, cycles)
        return [at for at, (want, mask) in self.wanted.items() if (got[at] ^ want) & mask]

    def _ports(self) -> list[tuple[str, int, int]]:
        """Name, width, and what is there where nothing is said."""
        names = (path[0] for path, _, _ in self.path.signature.flatten(self.path))
        widths = {name: len(getattr(self.path, name)) for name in names if name != "result"}
        return [(name, width, (1 << width) - 1 if "operand" in name else 0) for name, width in widths.items()]

    def _in_amaranth(self, cycles: int) -> list[int]:
        given, ports = self.given, self._ports()
        return played(self.path, {name: [given[name].get(at, idle) for at in range(cycles)] for name, _, idle in ports})

    def _in_verilator(self, program: Verilated, cycles: int) -> list[int]:
        rows = {
            name: np.array([as_row(self.given[name].get(at, idle), width) for at in range(cycles)])
            for name, width, idle in self._ports()
        }
        return [int.from_bytes(row.tobytes(), "little") for row in program.run(rows)["result"]]
