"""A rule that applies a function, said to a `hw.firing.machine.Firing`: the datapath from what comes to what goes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value

from hw.functions.datapath import Datapath
from hw.links.words import in_words, whole
from hw.primitives.timing import becomes, delayed, held, loop_store, word_window
from hw.rules.moving import words_of
from hw.rules.numbers import const
from hw.rules.values import RESULT, STATE
from hw.rules.writing import Writing
from hw.verilog.modules import Shared
from step.lowering.plans.rows import largest


class Application(Writing):
    """Says what a rule does that applies a function."""

    def write(self) -> None:
        executed, (puts, token) = self._executed, self._executed.end.put(0)
        self._rule = self._firing.unit.rule
        self._value, self._emits = self._made(executed.flag("applies")), self._made(puts & token.has_value)
        dynamic = self._rule.result.most_rows > 0
        self._state_rows = Mux(self._emits, self._made(token.carries.rows), 0) if dynamic else 0
        super().write()

    def _rows_now(self) -> Any:
        if not self._rule.result.most_rows:
            return None
        resized = self._executed.flag("resized")
        if resized is const(0):
            return self._state_rows
        return Mux(self._made(resized), self._made(self._executed.end.said["resize",]), self._state_rows)

    def _cycles(self) -> Any:
        return self._rule.pace(self._rows).initiation_interval

    def _latency(self, port: int) -> Any:
        return self._rule.pace(self._state_rows).latency

    def _cycles_behind(self) -> Any:
        return largest(1, self._rule.pace(self._state_rows).result)

    def _send(self, port: int) -> None:
        m, firing, executed, rule = self._m, self._firing, self._executed, self._rule
        firing.reserve(port, when=self._made(executed.flag("reserve", port)), cycles=rule.pace(self._state_rows).burst)
        if rule.datapath is None:
            return
        datapath, streams, begins = self._start(rule.datapath), rule.datapath.streams, self._made(executed.begins)
        if rule.applied.reduces:
            first = firing.latched(begins)
            m.d.comb += datapath.first.eq(first)
            if streams:
                m.d.comb += datapath.emit.eq(firing.fired(self._emits))
        word: Value = datapath.result
        if not (streams or executed.puts_before) and {*executed.ways(port).values()} != {RESULT}:
            word = self._with_state(word, first)
        if not (streams or rule.result.control):
            word = in_words(m, word, firing.delayed(firing.fired(self._emits)), rule.result.word_bits)
        if executed.puts_before:
            word = self._one_behind(word, begins)
        if rule.result.control:
            firing.complete(port, control=word)
        else:
            firing.send(port, word)

    def _start(self, given: Datapath) -> Shared:
        """The datapath, which starts on the operands of a firing that applies it."""
        m, firing, rule = self._m, self._firing, self._rule
        m.submodules.datapath = datapath = Shared(given)
        if rule.is_stamped:
            m.d.comb += datapath.leave.eq(delayed(m, self._enters, 1 - given.leaves_early, "leave"))
        if given.streams:
            tiled = [port for port, each in enumerate(rule.reads) if each.most_rows]
            rows = firing.head(tiled[0]).rows if tiled and rule.result.most_rows else None
            m.d.comb += datapath.start.eq(firing.fired(self._value if rows is None else self._value & (rows != 0)))
            if rows is not None:
                m.d.comb += datapath.rows.eq(firing.registered(rows))
            for port, format in enumerate(rule.reads):
                if format.items:
                    m.d.comb += getattr(datapath, f"operand{port}").eq(firing.word(port))
            return datapath
        phase = firing.phase()
        gathers = Signal()
        final = rule.plan.gathering
        last = gathers & (phase == final)
        becomes(m, gathers, (firing.fires & self._value, 1), (last, 0))
        m.d.comb += datapath.start.eq(last)
        for port, format in enumerate(rule.reads):
            operand = getattr(datapath, f"operand{port}")
            if format.control:
                m.d.comb += operand.eq(firing.word(port))
            elif format.word_bits:
                m.d.comb += operand.eq(whole(m, f"operand{port}", firing.word(port), phase, format, final))
        return datapath

    def _with_state(self, result: Value, first: Value) -> Value:
        """The ``result``, or in a firing that does not apply the function the state before, or the initial one."""
        firing, executed = self._firing, self._executed
        arrives = firing.delayed(firing.fired(self._value))
        state: Value = Const(sum(executed.initial.items), len(result))
        if STATE in executed.ways(0).values():
            state = Mux(firing.delayed(first), state, held(self._m, result, arrives, "left"))
        return Mux(arrives, result, state)

    def _one_behind(self, word: Value, begins: Value) -> Value:
        """The ``word`` of the result before, or the initial state where a reduction begins."""
        m, firing, result = self._m, self._firing, self._rule.result
        now = Cat(firing.fires & self._value, begins)
        if not result.control:
            now = Cat(firing.fired(self._value), firing.registered(begins))
        comes, first = firing.delayed(now)
        number, (passes,) = word_window(m, comes, [result.cycles])
        began = held(m, first, comes, "held")
        literal = self._executed.initial
        initial = [Const(sum(literal.items), len(word))] if result.control else words_of(literal, result)
        before = loop_store(m, result.cycles, number, passes, word)
        return Mux(Mux(comes, first, began), Array(initial)[number], before)
