"""A rule, said to a `hw.firing.machine.Firing`."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned

from hw.firing.arrival_order import ArrivalOrder, selected
from hw.firing.loop_counters import entry_of, place_of
from hw.firing.machine import Firing
from hw.rules.execution import Execution, tuple_words
from hw.rules.facts import LOGIC
from hw.rules.moving import send_words
from hw.rules.numbers import Number, const, equal, less
from hw.rules.values import ANY, Carried, Symbol
from hw.verilog.modules import Shared
from step.language.loops import Stops
from step.lowering.links import Span
from step.lowering.plans.rows import largest

OPERATORS: dict[str, Callable[..., Any]] = {
    **LOGIC,
    **{name: getattr(operator, name) for name in ("add", "sub", "lt", "eq")},
    "times": lambda a, stride, most: a[: most.bit_length()] * stride,
    "bit": lambda a, place: a[place],
    "only": lambda place, count: Cat(place[: (count - 1).bit_length()] == each for each in range(count)),
    "has": lambda mask, one: (mask & one).any(),
    "with": lambda mask, one, _: mask | one,
    "mux": lambda test, a, b, _: Mux(test, a, b),
    "cat": lambda *flags: Cat(flags),
    "pick": lambda mask, *parts: selected(mask, parts),
    "several": lambda mask: reduce(operator.or_, (mask[:each].any() & mask[each] for each in range(1, len(mask)))),
    "first": lambda mask: (mask & -mask)[: len(mask)],
    "within": operator.and_,
    "without": lambda a, b: a & ~(b | Const(0, len(a))),
}


def numbers_of(thing: Any) -> dict[str, Number]:
    """The numbers that a word holds or an output sends, by part."""
    if isinstance(thing, Symbol):
        return thing.numbers()
    if isinstance(thing, Carried):
        return {} if thing.rows is ANY else {"rows": thing.rows}
    return {"": thing} if isinstance(thing, Number) else {}


class Writing:
    """Says what ``executed`` does to ``firing``."""

    def __init__(self, executed: Execution, m: Module, firing: Firing) -> None:
        self._executed, self._m, self._firing = executed, m, firing
        self._memo: dict[Number, Value] = {}
        self._steps: dict[str, Signal] = {}
        for port, format in enumerate(firing.unit.rule.inputs):
            if format.bound:
                control = executed.fronts[port].carries.control
                self._memo[less(control, const(format.bound))] = ~firing.beyond(port, format.bound)
        self._uses: Counter[Number] = Counter()
        for key, value in executed.end.said.items():
            if key[0] not in ("name", "live", "room", "resized"):
                for number in numbers_of(value).values():
                    self._count(number)
        for name, word in executed.present.items():
            for part, number in numbers_of(word).items():
                if name in executed.counters:
                    self._counter(name, executed.counters[name])
                elif number.op == "leaf":
                    init = executed.words.initial.get((name, part), 0)
                    self._memo[number] = _signal(number, f"{name}_{part}" if part else name, init)

    def write(self) -> None:
        """Say all of it."""
        m, executed, firing, rule = self._m, self._executed, self._firing, self._firing.unit.rule
        for port in range(len(rule.inputs)):
            need, take = executed.flag("need", port), executed.flag("take", port)
            if need is not const(0):
                firing.wait(firing.visible(port) if need is const(1) else ~self._made(need) | firing.visible(port))
            if take is not const(0):
                with m.If(self._made(take)):
                    firing.take(port)
        if executed.flag("starves") is not const(0):
            firing.rest(self._made(executed.flag("starves")))
        if executed.flag("fault") is not const(0):
            firing.fault(self._made(executed.flag("fault")))
        self._rows = self._rows_now()
        firing.occupy(when=self._made(executed.flag("COMPUTES")), cycles=self._cycles())
        firing.finish(self._made(executed.flag("ENDS")))
        for port, begin in enumerate(executed.offsets):
            if begin.rows:
                firing.read_after(port, begin.comes(self._rows) if rule.is_stamped else begin.at(self._rows))
        for port in range(len(rule.outputs)):
            self._put(port)
            self._send(port)
        for port in rule.held:
            firing.drop(port, when=self._made(executed.drops(port)))
        for name, before in executed.present.items():
            changes = executed.flag("next", name)
            if name in self._steps:
                m.d.comb += self._steps[name].eq(self._made(changes))
            elif changes is not const(0):
                old, after = numbers_of(before), numbers_of(executed.end.said["word", name])
                parts = [part for part, each in old.items() if each.op == "leaf" and after.get(part, each) is not each]
                values = [self._made(after[part]) for part in parts]  # below m.If they would have its condition, too
                with m.If(self._made(changes)):
                    for part, value in zip(parts, values, strict=True):
                        firing.next(self._memo[old[part]], value)

    def _counter(self, name: str, present: Sequence[Number]) -> None:
        """The state word ``name`` as counters: ``present`` are the entries that it stands at."""
        word, loops, most = present[0].args
        steps = self._steps[name] = Signal(name=f"{name}_steps")
        if isinstance(loops, range):
            first, end, step = (each & most for each in (loops[0], loops[-1], loops.step))
            integer = Signal(most.bit_length(), name=name, init=first)
            last = integer == end
            with self._m.If(steps):
                self._firing.next(integer, Mux(last, first, integer + step))
            self._memo[present[0]] = integer
        else:
            place = place_of(self._m, self._firing, loops.extents, steps)
            last = place.last
            for each in present:
                if isinstance(listed := each.args[1], Stops):
                    self._memo[each] = Mux(last, listed.most, place.level)
                elif self._uses[each]:
                    self._memo[each] = entry_of(self._m, self._firing, listed, place, steps, f"{name}_entry")
        self._memo[equal(word, const(len(loops) - 1))] = last

    def _send(self, port: int) -> None:
        """Say what the words of output ``port`` are."""
        send_words(self._executed, self._m, self._firing, self._made, port, self._rows)

    def _rows_now(self) -> Any:
        """The rows of the firing; None where they are static."""
        return None if self._executed.rows is None else self._made(self._executed.rows)

    def _cycles(self) -> Any:
        """The most words of a value at any port, where rows say how many; None where they are static."""
        if self._rows is None:
            return None
        executed, rule = self._executed, self._firing.unit.rule
        formats = (*rule.inputs, *rule.outputs)
        spans = {each.span if each.most_rows else Span(each.words) for each in formats}
        spans = {each for each in spans if not any(each != other and each.is_within(other) for other in spans)}
        most = sorted(spans, key=lambda each: (len(each.rows), each.rows, each.fixed))
        waits = [self._latency(port) for port in range(len(rule.outputs)) if ("resize",) in executed.end.said]
        return largest(1, *(each.at(self._rows) for each in most), *waits)

    def _latency(self, port: int) -> Any:
        """When what goes out on output ``port`` enters, which may follow from its rows."""
        rule, (places, _) = self._firing.unit.rule, self._executed.split(port)
        if not rule.is_stamped:
            return rule.latency
        format, begin = rule.outputs[port], places[0].comes(self._rows)
        return begin + tuple_words(format).fixed if format.control else begin

    def _cycles_behind(self) -> Any:
        """Cycles that the words of what is stamped take, where the unit does not wait for them."""
        return 1

    def _put(self, port: int) -> None:
        fields = {}
        for name, number in self._executed.token(port).numbers().items():
            if name in self._firing.unit.rule.outputs[port].header.members:
                made, width = self._made(number), self._firing.width(port, name)  # its range fits
                missing = width - len(made) if name == "control" else 0  # whose numbers may need fewer bits
                made = Cat(made, Const(0, missing)) if missing > 0 else made
                fields[name] = made if isinstance(made, Const) else made[:width]
        self._firing.put(port, when=self._made(self._executed.flag("put", port)), **fields)
        if self._firing.unit.rule.is_stamped:
            self._enters = self._firing.stamp(port, self._latency(port), self._cycles_behind())

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _count(self, number: Number) -> None:
        """Count of every number that is said."""
        self._uses[number] += 1
        if self._uses[number] == 1:
            for each in number.args:
                if isinstance(each, Number):
                    self._count(each)

    def _made(self, number: Number) -> Value:
        """``number`` in hardware; what the rule has a name for, or says more than once, is a signal."""
        if number in self._memo:
            return self._memo[number]
        match number.op:
            case "const":
                return Const(number.lo)
            case "leaf":
                if number.args[0][0] in self._steps:
                    hint = "compare it with its last value"
                    executed = self._executed
                    executed.refuse(executed.rule.body[0], f"self.{number.args[0][0]} as a number", hint)
                ((what, port, part),) = number.args
                if what == "port":
                    made = getattr(self._firing.unit, port)
                elif what == "differ":
                    made = self._firing.differ(port, part)
                else:
                    made = self._firing.visible(port) if part == "visible" else getattr(self._firing.head(port), part)
            case "table":
                entries, index = number.args
                width = max(1, max(entries).bit_length())
                made = Array(Const(each, width) for each in entries)[self._made(index)]
            case "oldest":
                waiting, among = map(self._made, number.args)
                self._m.submodules.order = order = Shared(ArrivalOrder(len(waiting)))
                self._m.d.comb += [order.waiting.eq(waiting), order.among.eq(among)]
                made = order.first
            case op:
                arguments = (self._made(each) if isinstance(each, Number) else each for each in number.args)
                made = OPERATORS[op](*arguments)
        name = self._executed.names.get(number)
        if number.op != "leaf" and (name is not None or (self._uses[number] > 1 and number.op != "not")):
            signal = _signal(number, name or f"{number.op}{len(self._memo)}")
            self._m.d.comb += signal.eq(made)
            made = signal
        self._memo[number] = made
        return made


def _signal(number: Number, name: str, init: int = 0) -> Signal:
    """A signal for ``number``, which may be a mask of more bits than a `range` has room for."""
    shape = unsigned(number.hi.bit_length()) if number.lo >= 0 else range(number.lo, number.hi + 1)
    return Signal(shape, name=name, init=init)
