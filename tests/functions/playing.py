"""Drives a datapath with elements, back to back or with gaps, and looks at its result exactly `latency` later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from hw.functions.datapath import Datapath
from step.language.dtypes import BOOL
from step.language.types import ElementType, Selector, Tile


def to_int(value: Any, element: ElementType) -> int:
    """The data bits of a value on a wire."""
    if isinstance(element, Selector):
        return int(value)
    assert isinstance(element, Tile)
    if element.dtype is BOOL:
        return sum(int(bit) << at for at, bit in enumerate(value.ravel()))
    return int.from_bytes(np.ascontiguousarray(value).tobytes(), "little")


def to_words(number: int, bits: int) -> np.ndarray:
    return np.frombuffer(number.to_bytes(-(-bits // 32) * 4, "little"), "<u4")


def schedule(count: int, interval: int, gaps: Sequence[int]) -> list[int]:
    """Cycles of ``count`` starts, ``interval`` apart and more by ``gaps`` in turn."""
    starts, at = [], 0
    for index in range(count):
        at += gaps[index % len(gaps)]
        starts.append(at)
        at += interval
    return starts


def play_amaranth(
    path: Datapath, elements: Sequence[Sequence[int]], firsts: Sequence[int], starts: Sequence[int]
) -> list[int]:
    """``result`` at start + latency of every element, in Amaranth's simulator. Idle operands are all ones."""
    results: list[int] = []
    due = {start + path.latency for start in starts}
    by_cycle = dict(zip(starts, range(len(starts)), strict=True))

    async def bench(ctx: Any) -> None:
        for cycle in range(max(due) + 1):
            index = by_cycle.get(cycle)
            ctx.set(path.start, index is not None)
            if hasattr(path, "first"):
                ctx.set(path.first, firsts[index] if index is not None else 0)
            for port, values in enumerate(zip(*elements, strict=True)):
                operand = getattr(path, f"operand{port}")
                ctx.set(operand, values[index] if index is not None else (1 << len(operand)) - 1)
            if cycle in due:
                results.append(ctx.get(path.result))
            if path.clocked:
                await ctx.tick()
            else:
                await ctx.delay(1e-9)

    simulator = Simulator(path)
    if path.clocked:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return results


def play_verilator(
    program: Any, path: Datapath, elements: Sequence[Sequence[int]], firsts: Sequence[int], starts: Sequence[int]
) -> list[int]:
    """The same in Verilator; ``program`` is a `Verilated` of ``path``."""
    cycles = max(starts) + path.latency + 1
    rows: dict[str, np.ndarray] = {"start": np.zeros(cycles, np.uint32), "first": np.zeros(cycles, np.uint32)}
    rows["start"][list(starts)] = 1
    rows["first"][list(starts)] = firsts
    for port, values in enumerate(zip(*elements, strict=True)):
        bits = len(getattr(path, f"operand{port}"))
        data = np.tile(to_words((1 << bits) - 1, bits), (cycles, 1))
        for start, value in zip(starts, values, strict=True):
            data[start] = to_words(value, bits)
        rows[f"operand{port}"] = data
    result = program.run(rows)["result"]
    return [int.from_bytes(result[start + path.latency].tobytes(), "little") for start in starts]
