"""What a rule does, said to a `hw.firing.Firing`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

from hw.firing import Firing
from hw.rules.execution import Execution
from hw.rules.moving import Moving
from hw.rules.numbers import Number, const
from hw.rules.values import ANY, Symbol
from hw.rules.words import parts_of

OPERATORS: dict[str, Callable[..., Any]] = {
    "not": lambda a: ~a,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "bit": lambda a, place: a[place],
    "mux": lambda test, a, b, _: Mux(test, a, b),
}


def numbers_of(thing: Any) -> Iterator[Number]:
    """The numbers that ``thing`` is made of."""
    match thing:
        case Number():
            yield thing
        case Symbol():
            for each in parts_of(thing).values():
                yield from numbers_of(each)
            if thing.carries is not ANY:
                yield from numbers_of(thing.carries.control)


class Writing:
    """Says what ``executed`` does to ``firing``."""

    def __init__(self, executed: Execution, m: Module, firing: Firing) -> None:
        self._executed, self._m, self._firing = executed, m, firing
        self._memo: dict[Number, Value] = {}
        self._uses: Counter[Number] = Counter()
        for key, value in executed.said.items():
            if key[0] not in ("name", "live", "room"):
                for number in numbers_of(value):
                    self._count(number)
        for word in executed.present.values():
            for number in numbers_of(word):
                if number.op == "leaf":
                    (name,) = number.args
                    register = Signal(
                        range(number.lo, number.hi + 1), name="_".join(name), init=executed.words.initial(name)
                    )
                    self._memo[number] = register

    def write(self) -> None:
        """Say all of it."""
        m, executed, firing, rule = self._m, self._executed, self._firing, self._firing.unit.rule
        moving = Moving(executed, self._m, firing, self._made)
        for port in range(len(rule.inputs)):
            need, take = executed.flag("need", port), executed.flag("take", port)
            if need is not const(0):
                firing.wait(firing.visible(port) if need is const(1) else ~self._made(need) | firing.visible(port))
            if take is not const(0):
                with self._m.If(self._made(take)):
                    firing.take(port)
        if executed.flag("fault") is not const(0):
            firing.fault(self._made(executed.flag("fault")))
        firing.occupy(when=self._made(executed.flag("COMPUTES")))
        firing.finish(self._made(executed.flag("ENDS")))
        for port in range(len(rule.outputs)):
            token = executed.said.get(("header", port), Symbol())
            self._put(port, token)
            moving.send(port, ANY if token.carries is ANY else token.carries.source)
        for port in rule.held:
            firing.drop(port, when=self._made(executed.drops(port)))
        for name, before in executed.present.items():
            changes = executed.flag("next", name)
            if changes is not const(0):
                with m.If(self._made(changes)):
                    self._next(before, executed.said["word", name])

    def _put(self, port: int, token: Symbol) -> None:
        parts = parts_of(token)
        del parts["there"]
        if self._firing.unit.rule.outputs[port].control and token.carries is not ANY:
            parts["control"] = token.carries.control
        fields = {}
        for name, number in parts.items():
            if number is not ANY:
                made, width = self._made(number), self._firing.width(port, name)
                fields[name] = made if isinstance(made, Const) else made[:width]  # its range fits
        self._firing.put(port, when=self._made(self._executed.flag("put", port)), **fields)

    def _next(self, before: Any, after: Any) -> None:
        """Registers of a word, and what they become."""
        pairs = [(before, after)]
        if isinstance(before, Symbol):
            pairs = list(zip(parts_of(before).values(), parts_of(after).values(), strict=True))
            if before.carries is not ANY and after.carries is not ANY:
                pairs.append((before.carries.control, after.carries.control))
        for register, number in pairs:
            if register is not number and register is not ANY and number is not ANY and register.op == "leaf":
                self._firing.next(self._memo[register], self._made(number))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _count(self, number: Number) -> None:
        """How often every number is said."""
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
                made = self._seen(*number.args)
            case "table":
                entries, index = number.args
                width = max(1, max(entries).bit_length())
                made = Array(Const(each, width) for each in entries)[self._made(index)]
            case op:
                arguments = (self._made(each) if isinstance(each, Number) else each for each in number.args)
                made = OPERATORS[op](*arguments)
        name = self._executed.names.get(number)
        if number.op != "leaf" and (name is not None or (self._uses[number] > 1 and number.op != "not")):
            signal = Signal(range(min(number.lo, 0), number.hi + 1), name=name or f"{number.op}{len(self._memo)}")
            self._m.d.comb += signal.eq(made)
            made = signal
        self._memo[number] = made
        return made

    def _seen(self, name: tuple[Any, ...]) -> Value:
        """What the unit sees of inputs."""
        if name[0] == "differ":
            return self._firing.differ(*name[1:])
        _, port, part = name
        found: Value = getattr(self._firing.head(port), part)
        return found
