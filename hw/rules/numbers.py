"""Expressions over the bits that a unit sees, each with the range of its values, every distinct one once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

Range = tuple[int, int]


class Number:
    """``op`` over ``args``, between ``lo`` and ``hi``; a leaf is what the unit sees, by name."""

    __slots__ = ("args", "hi", "lo", "op")

    def __init__(self, op: str, args: tuple[Any, ...], range: Range) -> None:
        self.op, self.args, (self.lo, self.hi) = op, args, range

    def __repr__(self) -> str:
        return str(self.lo) if self.op == "const" else f"{self.op}{self.args}"

    def __and__(self, other: Number) -> Number:
        return _junction("and", self, other, neutral=1)

    def __or__(self, other: Number) -> Number:
        return _junction("or", self, other, neutral=0)

    def __invert__(self) -> Number:
        if self.op == "const":
            return const(1 - self.lo)
        return self.args[0] if self.op == "not" else node("not", self)

    def __add__(self, other: Number) -> Number:
        return other if self is const(0) else self if other is const(0) else node("add", self, other)

    def __sub__(self, other: Number) -> Number:
        return self if other is const(0) else node("sub", self, other)

    @property
    def is_kept(self) -> bool:
        """Whether it is a part of a state word, or a choice of such."""
        if self.op in ("mux", "and", "not"):
            return all(each.is_kept for each in self.args if isinstance(each, Number))
        return self.op == "const" or (self.op == "leaf" and self.args[0][0] != "input")

    @property
    def is_flag(self) -> bool:
        """Whether it is 0 or 1, and not known to be either."""
        return (self.lo, self.hi) == (0, 1)


@cache
def const(number: int) -> Number:
    """``number`` itself."""
    return Number("const", (), (number, number))


@cache
def leaf(name: Hashable, lo: int, hi: int) -> Number:
    """A number that the unit sees as ``name``."""
    return const(lo) if lo == hi else Number("leaf", (name,), (lo, hi))


@cache
def node(op: str, *args: Any) -> Number:
    """``op`` over ``args``, which are not simplified; where its range leaves one number, it is that."""
    lo, hi = range_of(op, args, lambda each: (each.lo, each.hi))
    return const(lo) if lo == hi else Number(op, args, (lo, hi))


def range_of(op: str, args: tuple[Any, ...], of: Callable[[Number], Range]) -> Range:
    """The range of ``op`` over ``args``, whose ranges are those ``of`` them."""
    match op, *args:
        case "bit" | "has", *_:
            return 0, 1
        case "only" | "with", *_, count:
            return 0, (1 << count) - 1
        case "cat", *flags:
            return 0, (1 << len(flags)) - 1
        case "pick", mask, *parts:
            return 0, max(of(each)[1] for each in parts) if of(mask)[1] else 0
        case "entry", _, _, most:
            return 0, most
        case "times", factor, stride, most:
            return of(factor)[0] * stride, min(of(factor)[1], most) * stride
        case "several", mask:
            return 0, int(of(mask)[1] > 1)
        case "oldest" | "first" | "within" | "without", mask, *_:
            return 0, (1 << of(mask)[1].bit_length()) - 1
        case "table", entries, index:
            lo, hi = of(index)
            return min(entries[lo : hi + 1]), max(entries[lo : hi + 1])
    (a, b), *others = map(of, args[:3])
    if op == "not":
        return 1 - b, 1 - a
    if op == "mux":
        if a == b:
            return others[0 if a else 1]
        ((c, d), (e, f)), (lo, hi) = others, args[3]
        return max(min(c, e), lo), min(max(d, f), hi)
    ((c, d),) = others
    match op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "and":
            return min(a, c), min(b, d)
        case "or":
            return max(a, c), max(b, d)
        case "lt":
            return int(b < c), int(a < d)
    return int(a == b == c == d), int(a <= d and c <= b)  # "eq"


def _junction(op: str, a: Number, b: Number, neutral: int) -> Number:
    for one, other in ((a, b), (b, a)):
        if one.op == "const":
            return other if one.lo == neutral else one
    return a if a is b else node(op, a, b)


def less(a: Number, b: Number) -> Number:
    """Whether ``a < b``."""
    return node("lt", a, b)


def equal(a: Number, b: Number) -> Number:
    """Whether ``a == b``."""
    if b.op == "const" and b.lo in (0, 1) and a.is_flag:
        return a if b.lo else ~a
    return const(1) if a is b else node("eq", a, b)


def has(mask: Number, one: Number) -> Number:
    """Whether ``mask`` has the bit that is set in ``one``."""
    return const(0) if mask is const(0) else node("has", mask, one)


def mask_of(flags: Sequence[Number]) -> Number:
    """The mask whose bits are ``flags``."""
    return flags[0] if len(flags) == 1 else node("cat", *flags)


def bit(number: Number, place: int) -> Number:
    """Bit ``place`` of ``number``."""
    if number.op == "cat":
        return number.args[place]
    if number.is_flag and not place:
        return number
    return const(number.lo >> place & 1) if number.op == "const" else node("bit", number, place)
