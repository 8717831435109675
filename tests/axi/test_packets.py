"""Streams whose TLAST ends a stop, with models of cocotbext-axi."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from boards import QUICKEST, Run, Wrapped
from programs import BUS, FABRIC, kept_rows, row_data

from hw.links.layout import input_formats
from step.language.graph import Graph
from step.language.tokens import Token
from step.running.interpreter import interpret

pytestmark = pytest.mark.large

DONE, STOP = 0b001, 0b100
"""Bits of a header of rank 1."""


def packets_of(tokens: Sequence[Token], level: int) -> list[int]:
    """Tokens of each packet: with a stop of ``level`` or higher, and with Done, one ends."""
    sizes, begun = [], 0
    for token in tokens:
        begun += 1
        if token.stop >= level:
            sizes.append(begun)
            begun = 0
    return [*sizes, begun + 1]  # Done


class Packed(Wrapped):
    """A wrapped fabric whose sinks have packets of rows."""

    packets = 1

    def _frames(self, inputs: Any) -> dict[str, int]:
        outputs = interpret(self.graph, inputs).outputs
        return {port.name: len(packets_of(outputs[port.name], self.packets)) for port in self.design.sinks}

    def _check_sinks(self, wanted: dict[str, Any], played: dict[str, Any]) -> None:
        """Packets are those of the tokens, all of their data is there, and the last header ends a row, or is Done."""
        for port in self.design.sinks:
            tokens, found = wanted[port.name], played["sinks"][port.name]
            sizes = packets_of(tokens, self.packets)
            transfers = [len(bytes.fromhex(data)) // width for data, _, width in found]
            (format,) = input_formats(self.netlist.graph.nodes[port.name], self.netlist)
            counts = [format.cycles if each.has_value else 1 for each in tokens] + [1]  # and Done
            ends = list(accumulate(sizes))
            expected = [sum(counts[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
            assert transfers == expected
            headers = [last for _, (_, last), _ in found]
            assert all(each & STOP for each in headers[:-1]) and headers[-1] & DONE


def test_packets_of_rows(tmp_path: Path) -> None:
    graph = Graph("kept")
    kept_rows(graph)
    inputs = row_data(1, [2, 1]), row_data(2, [1])
    packed = Packed(graph, FABRIC, BUS, tmp_path, *inputs, simulator=QUICKEST)
    runs = [Run(latency=0, pauses=0), Run(data=1, seed=2), Run(seed=3, latency=20, pauses=0.7)]
    found = packed.play(*runs)
    for run, played in zip(runs, found, strict=True):
        packed.check(run, played)
        assert played["memory_fault"] == 0
    assert [len(played["sinks"]["t"]) for played in found] == [3, 2, 3]  # rows, and Done
