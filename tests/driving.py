"""Modules in Amaranth's own simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator


def drive(module: Elaboratable, bench: Callable[[Any], Any]) -> None:
    """``module``, with a clock where it has one, until ``bench`` ends."""
    simulator = Simulator(module)
    simulator.add_clock(1e-6, if_exists=True)
    simulator.add_testbench(bench)
    simulator.run()


def played(component: Any, rows: Mapping[str, Sequence[int]]) -> list[int]:
    """The ``result`` of ``component`` by cycle, while a row of numbers after the other is at its ports."""
    results: list[int] = []

    async def bench(ctx: Any) -> None:
        for row in zip(*rows.values(), strict=True):
            for name, value in zip(rows, row, strict=True):
                ctx.set(getattr(component, name), int(value))
            results.append(ctx.get(component.result))
            if component.clocked:
                await ctx.tick()

    drive(component, bench)
    return results
