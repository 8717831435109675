"""The common part of all datapaths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.verilog.modules import Parametric
from step.errors import FabricError
from step.language.function import Function
from step.lowering.plans.plan import Plan


class PlanError(Exception):
    """A datapath that is not what its plan says: a mistake in one of the two, found when the datapath is made."""


def check_plan(datapath: Parametric, plan: Plan, *, latency: int, busy: int = 1) -> None:
    """Raise `PlanError` unless ``plan`` has the ``latency`` of ``datapath``, and starts it when it is not ``busy``."""
    name = type(datapath).__name__
    if latency != plan.latency:
        raise PlanError(f"{name} has a latency of {latency} cycles, and its plan has {plan.latency}")
    if busy > plan.initiation_interval:
        raise PlanError(f"{name} is busy for {busy} cycles, and its plan has an interval of {plan.initiation_interval}")


def no_datapath(function: Function) -> FabricError:
    """The error of a family that has no hardware for one of its functions."""
    return FabricError(f"there is no datapath for the function {function.name!r}")


class Datapath(Parametric):
    """A function made hardware, as its ``plan`` says.

    In a cycle with ``start`` the ``operand``\\ s are right; `latency` cycles later ``result`` is. Starts come
    `initiation_interval` cycles apart or more. A reduction has ``first`` as well: the element begins a new one.
    With latency 0 ``result`` follows the operands at once.

    One that `streams` wants the words of its operands as they come: those that are there with ``start`` are the first
    ones, and `latency` cycles later the words of the result begin on ``result``, one a cycle. A reduction then has
    ``emit`` too: with it, in the cycle of a ``start`` or of its own, the state is to leave, `latency` cycles later;
    ``first`` without ``start`` says that nothing was reduced. The words of a state are out when the next one leaves.
    A reduction may go on behind an ``emit``; then its elements leave the words of a state the time to go out.

    One for tiles with a dynamic number of rows, ``most_rows`` at most, has their ``rows`` (>= 1) with ``start``. Where
    the latency follows from them (`DynamicPlan`), the words of the result begin with ``leave`` (see `leaves_early`).
    """

    leaves_early: ClassVar[bool] = False
    """``leave`` comes a cycle before the first word of the result, as this lies in block RAM."""

    def __init__(
        self,
        plan: Plan,
        operands: Sequence[int],
        result: int,
        *,
        reduce: bool,
        latency: int,
        busy: int = 1,
        most_rows: int = 0,
    ) -> None:
        """``operands`` and ``result`` are widths in bits, ``latency`` and ``busy`` cycles of what is built.

        Raises `PlanError` where these are others than the ``plan`` has.
        """
        self.plan = plan
        check_plan(self, plan, latency=latency, busy=busy)
        members = {"start": In(1)} | ({"first": In(1)} if reduce else {})
        members |= {"emit": In(1)} if reduce and self.streams else {}
        members |= {"rows": In(range(most_rows + 1)), "leave": In(1)} if most_rows else {}
        members |= {f"operand{port}": In(width) for port, width in enumerate(operands)}
        super().__init__({**members, "result": Out(result)})

    @property
    def stem(self) -> str:
        return super().stem.removesuffix("Datapath")

    @property
    def initiation_interval(self) -> int:
        return self.plan.initiation_interval

    @property
    def latency(self) -> int:
        return self.plan.latency

    @property
    def streams(self) -> bool:
        return self.plan.streams

    def rows_now(self, m: Module) -> Value:
        """The rows of the operands that came last."""
        rows, held = (Signal.like(self.rows, name=name) for name in ("rows_now", "rows_held"))
        m.d.comb += rows.eq(Mux(self.start, self.rows, held))
        m.d.sync += held.eq(rows)
        return rows
