"""What a rule handles besides numbers: tokens, what they carry, channels; `ANY` where nothing depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hw.rules.facts import Facts, Law, pick
from hw.rules.numbers import Number, bit, const


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY: Any = _Any()
"""A don't-care: a field that no path sets, or what comes behind a fault."""


@dataclass(frozen=True)
class Front:
    """The words of the token in front of an input."""

    port: int


@dataclass(frozen=True)
class Kept:
    """The words of the token that a state word holds."""

    word: str


@dataclass(frozen=True)
class Literal:
    """A value that the rule itself has: the bits of its items."""

    items: tuple[int, ...]

    @classmethod
    def of(cls, value: Any) -> Literal:
        """``value`` of an element type: a tile, a number or a tuple; None is one that nobody can get."""
        parts = value if isinstance(value, tuple) else (value,)
        return cls(() if value is None else tuple(_bits(each) for each in parts))


@dataclass(frozen=True)
class Movement:
    """A function of values that is a way for their words, by its name."""

    name: str


@dataclass(frozen=True)
class Moved:
    """What a `Movement` makes of values."""

    movement: Movement
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Either:
    """One source or another."""

    test: Number
    yes: Source
    no: Source


Source: TypeAlias = "Front | Kept | Literal | Moved | Either | _Any"
"""Where the words of a value lie."""


@dataclass(frozen=True, eq=False)
class Carried:
    """What a token carries, if it is ``there``: the source of its words, and what of it is in the header."""

    there: Number
    source: Source = ANY
    control: Any = ANY

    def on(self, facts: Facts) -> Carried:
        """The same as this path knows it."""
        there, source = facts.simple(self.there, 0), self.source
        while isinstance(source, Either) and (which := facts.fixed(source.test)) is not None:
            source = source.yes if which else source.no
        if there is const(0):
            return Carried(there)
        return Carried(there, source, self.control if self.control is ANY else facts.simple(self.control, 0))

    def bit(self, place: int, facts: Facts) -> Number:
        """Bit ``place`` of what is in the header; none is set where there is no value."""
        control = self.on(facts).control
        return const(0) if control is ANY else bit(control, place)


@dataclass(frozen=True, eq=False)
class Symbol:
    """A token: its fields, what it ``carries``, and whether there is one."""

    stop: Any = ANY
    rank: Any = ANY
    done: Any = ANY
    carries: Carried = ANY
    there: Number = field(default_factory=lambda: const(1))

    def on(self, facts: Facts) -> Symbol:
        """The same as this path knows it."""
        stop, rank, done = (
            each if each is ANY else facts.simple(each, 0) for each in (self.stop, self.rank, self.done)
        )
        return Symbol(stop, rank, done, self.carries if self.carries is ANY else self.carries.on(facts), self.there)

    def laws(self) -> dict[Number, Law]:
        """What holds of every token there is: it is Done, or has a value, or is an empty with a stop as high."""
        stop, rank, done, value = self.stop, self.rank, self.done, self.carries.there
        alone = [(stop, 0, 0), (rank, 0, 0)]
        laws: dict[Any, Law] = {
            value: lambda lo, hi: [(done, 0, 0), alone[1]] if lo else [],
            done: lambda lo, hi: [(value, 0, 0), *alone] if lo else [],
            rank: lambda lo, hi: [(value, 0, 0), (done, 0, 0), (stop, lo, MOST)] if lo else [],
            stop: lambda lo, hi: [*([(done, 0, 0)] if lo else []), (rank, 0, hi)],
        }
        return {each: law for each, law in laws.items() if each is not ANY and each.op == "leaf"}


MOST = 1 << 30

NOTHING = Symbol(there=const(0))
"""No token."""


@dataclass(frozen=True)
class Channels:
    """Inputs or outputs: port numbers, each with the condition under which it is meant."""

    side: str
    ports: tuple[tuple[int, Number], ...]


@dataclass(frozen=True)
class Port:
    """One input or output."""

    side: str
    number: int


def join(test: Number, a: Any, b: Any, yes: Facts, no: Facts) -> Any:
    """``a`` where ``test`` holds, else ``b``; `ANY` where nothing can be said of both."""
    if a is b or b is ANY:
        return a
    if a is ANY:
        return b
    match a, b:
        case Number(), Number():
            return pick(test, a, b, yes, no)
        case (Symbol(), None) | (None, Symbol()) | (Symbol(), Symbol()):
            a, b = a or NOTHING, b or NOTHING
            parts = ("stop", "rank", "done", "carries", "there")
            return Symbol(*(join(test, getattr(a, each), getattr(b, each), yes, no) for each in parts))
        case Carried(), Carried():
            there = pick(test, a.there, b.there, yes, no)
            source = a.source
            if b.source is not ANY and a.source != b.source:
                source = b.source if a.source is ANY else Either(test, a.source, b.source)
            return Carried(there, source, join(test, a.control, b.control, yes, no))
        case Port(), Port():
            return a if a == b else ANY
    return ANY  # names that mean different things, and nothing behind the join


def sources(source: Source) -> Sequence[Source]:
    """All that ``source`` may be, each once, without alternatives."""
    if isinstance(source, Either):
        return list(dict.fromkeys([*sources(source.yes), *sources(source.no)]))
    return [] if source is ANY else [source]


def _bits(value: Any) -> int:
    """The bits of a tile, row-major, or of a number."""
    if not isinstance(value, np.ndarray):
        return int(value)
    if value.dtype == np.bool_:
        return int.from_bytes(np.packbits(value.reshape(-1), bitorder="little").tobytes(), "little")
    return int.from_bytes(np.ascontiguousarray(value).tobytes(), "little")
