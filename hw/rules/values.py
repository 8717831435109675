"""Things that a rule handles besides numbers: tokens, their values and ports; and the paths through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from hw.rules.facts import Facts, Law, pick
from hw.rules.numbers import Number, const
from step.language.loops import Walk
from step.lowering.links import Span


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY: Any = _Any()
"""A don't-care: a field that no path sets, or what comes behind a fault."""


@dataclass(frozen=True)
class Literal:
    """The words of a value that the rule itself has: the bits of its items."""

    items: tuple[int, ...]


@dataclass(frozen=True)
class Arriving:
    """The words of the values in front of these inputs, one after the other; those of an item from ``first`` on.

    Behind tiles of dynamic size in a tuple that follows from their rows. Of inputs in ``held`` it is the value that a
    state word keeps. With a ``mask`` it is the value of that one of the inputs which is in it.
    """

    ports: tuple[int, ...]
    first: int | Span | None = None
    held: tuple[int, ...] = ()
    mask: Number | None = None

    @property
    def is_whole(self) -> bool:
        """Whether they are the value of one input, as it comes."""
        return (len(self.ports) == 1 or self.mask is not None) and self.first is None

    @property
    def begins(self) -> Span:
        """With which word of a tuple they begin; 0 where they are whole."""
        return self.first if isinstance(self.first, Span) else Span(self.first or 0)

    def comes(self, rows: Any) -> Any:
        """Cycles behind a firing in which they come; behind tiles of dynamic size (of ``rows``) at least one."""
        return self.begins.comes(rows)

    def __str__(self) -> str:
        inputs = (" beside " if self.mask is None else " or ").join(f"input {each}" for each in self.ports)
        return inputs if self.first is None else f"an item of {inputs}"


@dataclass(frozen=True)
class Listing:
    """The words of one of ``values``: integers of a range, of which it has the ``number``, or that number of a list."""

    values: range | tuple[Literal, ...]
    number: Any = None

    def __str__(self) -> str:
        return "a list of values"


@dataclass(frozen=True)
class Beats:
    """Places in memory: the entries of a ``walk``, the lowest of them 0, behind the beat at the port ``base``."""

    walk: Walk

    def __len__(self) -> int:
        return len(self.walk)


@dataclass(frozen=True)
class Stored:
    """The tiles that memory has, of which nothing is known but that each is a value."""


COMPUTED = "a number that is computed"
"""The source of a value that has no words: it is in the header alone."""

RESULT, STATE = "the result of a function", "the state of a reduction"
"""Sources in a datapath: what it makes in this firing, and what it made before."""


class Carried(NamedTuple):
    """The value of a token, if it is ``there``: the number of the source of its words, and what is in the header."""

    there: Number
    source: Any = ANY
    control: Any = ANY
    rows: Any = ANY


class Symbol(NamedTuple):
    """A token: its fields, what it ``carries``, and whether there is one."""

    stop: Any = ANY
    rank: Any = ANY
    done: Any = ANY
    carries: Any = ANY
    there: Any = const(1)

    @property
    def has_value(self) -> Number:
        """Whether it is a token with a value."""
        return const(0) if self.carries is ANY else self.there & self.carries.there

    def numbers(self) -> dict[str, Number]:
        """Its bits, by field of a header; and ``there``."""
        value, _, control, rows = 4 * (ANY,) if self.carries is ANY else self.carries
        parts = {"stop": self.stop, "rank": self.rank, "done": self.done}
        parts |= {"value": value, "control": control, "rows": rows}
        return {name: each for name, each in (parts | {"there": self.there}).items() if each is not ANY}

    def laws(self) -> dict[Number, Law]:
        """Laws of every token there is: it is Done, or has a value, or is an empty with a stop as high."""
        stop, rank, done, value = self.stop, self.rank, self.done, self.carries.there
        laws: dict[Any, Law] = {
            value: lambda lo, hi: [(done, 0, 0), (rank, 0, 0)] if lo else [],
            done: lambda lo, hi: [(value, 0, 0), (stop, 0, 0), (rank, 0, 0)] if lo else [],
            rank: lambda lo, hi: [(value, 0, 0), (done, 0, 0), (stop, lo, stop.hi)] if lo else [],
            stop: lambda lo, hi: [*([(done, 0, 0)] if lo else []), (rank, 0, hi)],
        }
        return {each: law for each, law in laws.items() if each.op in ("leaf", "pick")}


NOTHING = Symbol(there=const(0))
"""No token."""


class Port(NamedTuple):
    """One input or output, ``when`` it is meant."""

    side: str
    number: int
    when: Number = const(1)


def known(thing: Any, facts: Facts) -> Any:
    """``thing`` as a path knows it."""
    if isinstance(thing, Number):
        return facts.simple(thing, 0)
    if not isinstance(thing, Symbol | Carried):
        return thing
    found = type(thing)(*(known(each, facts) for each in thing))
    return Carried(found.there) if isinstance(found, Carried) and found.there is const(0) else found


def join(test: Number, a: Any, b: Any, yes: Facts, no: Facts) -> Any:
    """``a`` where ``test`` holds, else ``b``; `ANY` where nothing can be said of both."""
    if a is b or b is ANY:
        return a
    if a is ANY:
        return b
    if isinstance(a, Symbol) or isinstance(b, Symbol):
        a, b = a or NOTHING, b or NOTHING
    if isinstance(a, Number) and isinstance(b, Number):
        return pick(test, a, b, yes, no)
    if isinstance(a, Symbol | Carried) and type(a) is type(b):
        return type(a)(*(join(test, *parts, yes, no) for parts in zip(a, b, strict=True)))
    return a if a == b else ANY  # names that mean different things, and nothing behind the join


Said = dict[tuple[Any, ...], Any]
"""Flags and tokens by word and port, and the rule's names and state words."""

FLAGS = {"need", "starves", "take", "put", "room", "next", "resized", "applies", "reserve", "COMPUTES", "ENDS", "fault"}
"""Words that are 0 on a path where they are not said; of all else, nothing matters then."""


@dataclass
class Path:
    """A path through a rule: all that it has ``said``, and the ``facts`` that it knows."""

    said: Said
    facts: Facts

    def fork(self, test: Number) -> tuple[Path | None, Path | None]:
        """The paths where ``test`` holds and where it does not; None for one that there can not be."""
        facts = self.facts.assume(test, True), self.facts.assume(test, False)
        yes, no = (None if each is None else Path(dict(self.said), each) for each in facts)
        return yes, no

    def put(self, port: int) -> tuple[Number, Symbol]:
        """Whether it puts a token in output ``port``, and which."""
        return self.flag("put", port), self.said.get(("token", port), NOTHING)

    def flag(self, *key: Any) -> Number:
        """Whether it says ``key``, a word and a port."""
        return self.said.get(key, const(0))


def joined(test: Number, yes: Path, no: Path) -> Said:
    """All that two paths have said: where one is dead only needs and faults matter."""
    found: Said = {}
    for key in {**yes.said, **no.said}:
        parts: list[Any] = []
        for said in (yes.said, no.said):
            dead = said[("live",)] is const(0) and key[0] not in ("need", "starves", "fault")
            parts.append(said.get(key, const(0) if key[0] in FLAGS and not dead else ANY))
        found[key] = join(test, parts[0], parts[1], yes.facts, no.facts)
    return found


def leaves(source: Any) -> Iterator[int]:
    """All numbers that ``source`` may be."""
    if source is not ANY and source.op == "mux":
        yield from (*leaves(source.args[1]), *leaves(source.args[2]))
    elif source is not ANY:
        yield source.lo


def picked(source: Any, wanted: Callable[[int], Number]) -> Number:
    """Whether ``source`` is a number that is ``wanted``."""
    if source is ANY:
        return const(0)
    if source.op != "mux":
        return wanted(source.lo)
    test, yes, no = source.args[0], picked(source.args[1], wanted), picked(source.args[2], wanted)
    return yes if yes is no else test & yes | ~test & no
