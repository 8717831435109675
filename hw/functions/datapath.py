"""The common part of all datapaths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hw.functions.store import Groups
from hw.primitives.delay import DelayLine
from hw.primitives.timing import counter, counts, delayed, window, window_place
from hw.verilog.modules import Parametric, Shared
from step.language.function import Function
from step.lowering.plans.plan import DatapathPlan

HARDWARE: dict[type[Function], Callable[[Any], Any]] = {}
"""What makes the hardware of a function of its plan, by its class."""


class Hardware:
    """A class that makes the hardware of the functions which it is said to be ``of``."""

    def __init_subclass__(cls, *, of: type[Function] | tuple[type[Function], ...] = (), **others: Any) -> None:
        super().__init_subclass__(**others)
        HARDWARE.update(dict.fromkeys(of if isinstance(of, tuple) else (of,), cls.planned))

    @classmethod
    def planned(cls: Any, plan: Any) -> Any:
        """The hardware of a function with this ``plan``."""
        return cls(plan)


class Datapath(Hardware, Parametric):
    """A function made hardware, as its ``plan`` declares it: the fields of that are all that makes it.

    In a cycle with ``start`` the ``operand``\\ s are right; `latency` cycles later ``result`` is. Starts come
    `initiation_interval` cycles apart or more. A reduction has ``first`` as well: the element begins a new one.
    With latency 0 ``result`` follows the operands at once.

    One that `streams` wants the words of its operands as they come: those that are there with ``start`` are the first
    ones, and `latency` cycles later the words of the result begin on ``result``, one a cycle. A reduction then has
    ``emit`` too: with it, in the cycle of a ``start`` or of its own, the state is to leave, `latency` cycles later;
    ``first`` without ``start`` says that nothing was reduced. The words of a state are out when the next one leaves.
    A reduction may go on behind an ``emit``; then its elements leave the words of a state the time to go out.

    One for tiles with a dynamic number of rows has their ``rows`` (>= 1) with ``start``. Where the latency follows from
    them (`DatapathPlan.at`), the words of the result begin with ``leave`` (see `leaves_early`).
    """

    leaves_early: ClassVar[bool] = False
    """``leave`` comes a cycle before the first word of the result, as this lies in block RAM."""

    def __init__(self, plan: DatapathPlan) -> None:
        self.plan = plan
        members = {"start": In(1)} | ({"first": In(1)} if plan.reduce else {})
        members |= {"emit": In(1)} if plan.reduce and plan.streams else {}
        members |= {"rows": In(range(plan.most_rows + 1)), "leave": In(1)} if plan.most_rows else {}
        members |= {f"operand{port}": In(width) for port, width in enumerate(plan.operand_bits)}
        super().__init__({**members, "result": Out(plan.result_bits)})
        self.parameters = {each.name: getattr(plan, each.name) for each in fields(plan)}  # type: ignore[arg-type]

    def value(self, m: Module) -> Value:
        """The result, or the word of it that leaves."""
        raise NotImplementedError

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq(self.value(m))
        return m

    @property
    def stem(self) -> str:
        return super().stem.removesuffix("Datapath")

    initiation_interval = property(lambda self: self.plan.initiation_interval)
    latency = property(lambda self: self.plan.latency)
    streams = property(lambda self: self.plan.streams)

    def rows_now(self, m: Module) -> Value:
        """The rows of the operands that came last."""
        rows, held = (Signal.like(self.rows, name=name) for name in ("rows_now", "rows_held"))
        m.d.comb += rows.eq(Mux(self.start, self.rows, held))
        m.d.sync += held.eq(rows)
        return rows

    def gathered(self, m: Module, number: Value, groups: int) -> Groups:
        """The ``groups`` of an element, or fewer, when enough words came; that with ``number`` comes now."""
        plan: Any = self.plan
        begins = self.start if plan.gathering == 1 else number == plan.gathering - 1
        known = plan.groups_of(self.rows_now(m)) if plan.most_rows else None
        return Groups(begins, *window(m, "group", begins, groups, known))

    def result_group(self, m: Module, groups: int, valid: Value, ends: Value, cycles: int) -> tuple[Value, Value]:
        """The number of the result that is ``valid``, of so many, and whether it is the last one.

        Where there may be fewer, the last one is that which ``ends`` them so many ``cycles`` earlier.
        """
        if not self.plan.most_rows:
            return counter(m, groups, "result_group", valid)
        number, last = Signal(range(groups), name="result_group"), delayed(m, ends, cycles, "result_ends")
        counts(m, number, valid, last)
        return number, last

    def leaving(self, m: Module, words: int) -> tuple[Value, Value]:
        """The number of the word that leaves, of so many, and whether it is the last one; of dynamic ones never."""
        if self.plan.most_rows:
            return window_place(m, "word", self.leave, words), C(0, 1)
        begins: Value = self.start
        if self.latency > 1:
            m.submodules.begins = line = Shared(DelayLine(1, self.latency - 1))
            m.d.comb += line.i.eq(self.start)
            begins = line.o
        _, word, last = window(m, "word", begins, words)
        return word, last

    def emitted(self, m: Module, words: int, dynamic: bool) -> Value:
        """The number of the word of a state that leaves, of so many, or of at most as many in a ``dynamic`` one."""
        if dynamic:
            return delayed(m, window_place(m, "word", self.emit, words - 1), 1, "word")
        return window(m, "word", self.emit, words)[1]
