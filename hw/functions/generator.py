"""Generators of pieces, for functions that count them."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.lib.wiring import In, Out

from hw.functions.datapath import check_plan
from hw.verilog.modules import Parametric
from step.lowering.plans.plan import Plan

INDEX_BITS = 32


class Generator(Parametric):
    """Piece ``index`` of what the ``operand``\\ s make: a `step.language.function.CountedFunction` made hardware.

    At once there are ``none``: that is no piece at all, and ``last``: piece ``index`` is the last one. ``result``
    follows `latency` cycles later; with another index or other operands in every cycle. One with a ``fault`` has
    ``invalid`` as well, at once: the operands make no sense. One with a ``step`` is told what is ``reached`` with this
    piece, a step for each: so it needs no product to find its last one.
    """

    clocked = False

    def __init__(
        self,
        plan: Plan,
        operands: Sequence[int],
        result: int,
        *,
        fault: bool = False,
        step: int = 0,
        latency: int = 0,
    ) -> None:
        """``operands`` and ``result`` are widths in bits, ``latency`` cycles of what is built; see `check_plan`."""
        check_plan(self, plan, latency=latency)
        self.latency = plan.latency
        self.step = min(step, 1 << INDEX_BITS)  # more than any operand, so one is enough
        members = {f"operand{port}": In(width) for port, width in enumerate(operands)} | {"index": In(INDEX_BITS)}
        members |= {"reached": In(INDEX_BITS + 1)} if step else {}
        members |= {"none": Out(1), "last": Out(1), "result": Out(result)} | ({"invalid": Out(1)} if fault else {})
        super().__init__(members)
