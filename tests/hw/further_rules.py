"""Rules that somebody may write, of which there is hardware."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ruled import KINDS, Kind

from step.firing.item import Item, SideBySide
from step.firing.machine import COMPUTES, ENDS, Machine
from step.firing.words import chosen, fault, need, need_all, put, room, side_by_side, take
from step.language.faults import Fault, aligned
from step.language.tokens import Token
from step.language.types import Tuple, is_dynamic


@dataclass(slots=True, eq=False, kw_only=True)
class Duplicate(Machine):
    """Every value twice."""

    again: bool = False

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        if x.has_value and not self.again:
            put(self.outputs[0], Token(x.value))
            self.again = True
            return COMPUTES
        take(self.inputs[0])
        put(self.outputs[0], x)
        self.again = False
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class EverySecond(Machine):
    """The first of each two values of a row; the last one of a row always."""

    odd: bool = False

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.odd and x.has_value and x.stop == 0:
            take(self.inputs[0])
            self.odd = False
            return None
        room(self.outputs[0])
        take(self.inputs[0])
        put(self.outputs[0], x)
        self.odd = x.has_value and x.stop == 0
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class Follow(Machine):
    """Stops come one value later, across the ends of rows: every value waits for the next token."""

    held: Token | None = None

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.held is None:
            if x.has_value:
                take(self.inputs[0])
                self.held = x
                return None
            room(self.outputs[0])
            take(self.inputs[0])
            put(self.outputs[0], x)
            return ENDS if x.done else None
        room(self.outputs[0])
        put(self.outputs[0], self.held)
        if x.has_value:
            take(self.inputs[0])
            self.held = x
        else:
            self.held = None
        return COMPUTES


@dataclass(slots=True, eq=False, kw_only=True)
class HoldTwo(Machine):
    """Tokens of two inputs, each kept until both are there."""

    one: Token | None = None
    other: Token | None = None

    def fire(self) -> int | None:
        if self.one is None:
            x = need(self.inputs[0])
            take(self.inputs[0])
            self.one = x
            return None
        if self.other is None:
            y = need(self.inputs[1])
            take(self.inputs[1])
            self.other = y
            return None
        room(self.outputs[0])
        room(self.outputs[1])
        done = self.one.done and self.other.done
        computes = self.one.has_value or self.other.has_value
        put(self.outputs[0], self.one)
        put(self.outputs[1], self.other)
        self.one = None
        self.other = None
        if computes:
            return COMPUTES
        return ENDS if done else None


@dataclass(slots=True, eq=False, kw_only=True)
class Peek(Machine):
    """The value in front of the second stream, again and again, for a row of the first; at last all others go."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        y = need(self.inputs[1])
        if not y.done and (x.done or not y.has_value):
            take(self.inputs[1])
            return None
        if x.has_value and y.done:
            fault(Fault.MISSING_DATA)
        room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            if x.stop > 0:
                take(self.inputs[1])
            put(self.outputs[0], Token(y.value, x.stop))
            return COMPUTES
        if x.done:
            take(self.inputs[1])
        put(self.outputs[0], x)
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class Select(Machine):
    """The values whose selector has its first bit, and the last one of every row."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        s = need(self.inputs[1])
        if x.has_value and x.stop == 0 and not chosen(self.outputs, s.value):
            take(self.inputs[0])
            take(self.inputs[1])
            return None
        room(self.outputs[0])
        take(self.inputs[0])
        take(self.inputs[1])
        put(self.outputs[0], x)
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class HeldItem(Machine):
    """The first item of every tuple, which waits for the next token."""

    item: Callable[[Any], Any]
    held: Token | None = None

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if self.held is None and x.has_value:
            take(self.inputs[0])
            self.held = x
            return None
        room(self.outputs[0])
        if self.held is not None:
            put(self.outputs[0], Token(self.item(self.held.value), self.held.stop))
            self.held = None
            return COMPUTES
        take(self.inputs[0])
        put(self.outputs[0], x)
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class ThinItem(Machine):
    """An item of every tuple that is the last of its row."""

    item: Callable[[Any], Any]

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.has_value and x.stop == 0:
            take(self.inputs[0])
            return None
        room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            self.resize(x.value)
            put(self.outputs[0], Token(self.item(x.value), x.stop))
            return COMPUTES
        self.resize(0)
        put(self.outputs[0], x)
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class Cross(Machine):
    """Two streams change places."""

    def fire(self) -> int | None:
        tokens = need_all(self.inputs)
        x = aligned(*tokens)
        for each in self.outputs:
            room(each)
        for each in self.inputs:
            take(each)
        put(self.outputs[0], tokens[1])
        put(self.outputs[1], tokens[0])
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class WithBefore(Machine):
    """Values side by side, of which those of the first stream are taken a firing before."""

    pair: Callable[..., Any]
    before: Token | None = None

    def fire(self) -> int | None:
        if self.before is not None:
            y = need(self.inputs[1])
            if not y.has_value:
                fault(Fault.STOPS_DISAGREE)
            room(self.outputs[0])
            take(self.inputs[1])
            put(self.outputs[0], Token(self.pair(self.before.value, y.value), y.stop))
            self.before = None
            return COMPUTES
        x = need(self.inputs[0])
        if x.has_value:
            take(self.inputs[0])
            self.before = x
            return None
        z = need(self.inputs[1])
        if z.has_value:
            fault(Fault.STOPS_DISAGREE)
        room(self.outputs[0])
        take(self.inputs[0])
        take(self.inputs[1])
        put(self.outputs[0], x)
        return ENDS if x.done else None


def _item(machine: type[Machine], place: int) -> Kind:
    """One that sends the item at ``place`` of tuples."""

    def item(types: Any) -> Item:
        element = types[0].element
        assert isinstance(element, Tuple)
        return Item(element, place % len(element.items))

    return Kind(
        machine, lambda types: {"item": item(types)}, lambda types: [types[0].element.items[place]],
        lambda types: item(types).latency,
    )  # fmt: skip


def _pair(types: Any) -> dict[str, Any]:
    tiled = [port for port, each in enumerate(types) if is_dynamic(each.element)]
    return {"pair": SideBySide(tiled[0]) if tiled else side_by_side}


both = lambda types: [each.element for each in types]  # noqa: E731
KINDS |= {
    "duplicate": Kind(Duplicate),
    "every_second": Kind(EverySecond),
    "follow": Kind(Follow),
    "hold_two": Kind(HoldTwo, elements=both, passes=((0,), (1,))),
    "peek": Kind(Peek, elements=lambda types: [types[1].element], passes=((1,),)),
    "select": Kind(Select, decides=(1,)),
    "held_item": _item(HeldItem, 0),
    "thin_item": _item(ThinItem, -1),
    "cross": Kind(Cross, elements=lambda types: [each.element for each in types[::-1]], passes=((1,), (0,))),
    "with_before": Kind(WithBefore, _pair, lambda types: [Tuple(tuple(both(types)))], passes=((0, 1),)),
}
