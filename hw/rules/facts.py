"""Facts that a path through a rule knows: narrower ranges of expressions, closed over what holds of every token."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from hw.rules.numbers import Number, Range, const, node, range_of

Law = Callable[[int, int], list[tuple[Number, int, int]]]
"""Law of a number that is in some range: which others are in which then."""

LOGIC: Mapping[str, Callable[..., Any]] = {"and": operator.and_, "or": operator.or_, "not": operator.invert}

DEPTH = 3
"""So many levels of an expression are simplified by what is known."""


class Facts:
    """``known`` ranges besides those that expressions have by themselves; ``laws`` say what follows from them."""

    def __init__(self, laws: Mapping[Number, Law], known: Mapping[Number, Range] | None = None) -> None:
        self._laws, self._known = laws, dict(known or {})
        self._memo: dict[Number, Range] = {}

    def range(self, n: Number) -> Range:
        """The range of ``n`` on this path."""
        if n.op == "const":
            return n.lo, n.hi
        found = self._memo.get(n)
        if found is None:
            lo, hi = (n.lo, n.hi) if n.op == "leaf" else range_of(n.op, n.args, self.range)
            low, high = self._known.get(n, (lo, hi))
            found = self._memo[n] = max(lo, low), min(hi, high)
        return found

    def fixed(self, n: Number) -> int | None:
        """The only number that ``n`` can be on this path, if there is one."""
        lo, hi = self.range(n)
        return lo if lo == hi else None

    def assume(self, test: Number, truth: bool) -> Facts | None:
        """Facts where ``test`` has come out so; None where it can not."""
        found = Facts(self._laws, self._known)
        if not found._assume(test, truth):
            return None
        for each, (lo, hi) in list(found._known.items()):  # what was known of several may say more of one now
            if lo == hi and each.op in ("and", "or", "not") and each is not test and not found._assume(each, bool(lo)):
                return None
        return found

    def simple(self, n: Number, depth: int = DEPTH) -> Number:
        """``n`` without what is known of it."""
        fixed = self.fixed(n)
        if fixed is not None:
            return const(fixed)
        while n.op == "mux" and (which := self.fixed(n.args[0])) is not None:
            n = n.args[1 if which else 2]
        if depth:
            match n.op:
                case "and" | "or" | "not":
                    return LOGIC[n.op](*(self.simple(each, depth - 1) for each in n.args))
                case "mux":
                    test, a, b, _ = n.args
                    yes, no = self.assume(test, True), self.assume(test, False)
                    if yes is not None and no is not None:
                        return pick(test, yes.simple(a, depth - 1), no.simple(b, depth - 1), yes, no)
        return n

    def _narrow(self, n: Number, lo: int, hi: int) -> bool:
        low, high = self.range(n)
        lo, hi = max(lo, low), min(hi, high)
        if lo > hi:
            return False
        if (lo, hi) == (low, high):
            return True
        self._known[n] = lo, hi
        self._memo.clear()
        return n not in self._laws or all(self._narrow(*each) for each in self._laws[n](lo, hi))

    def _assume(self, test: Number, truth: bool) -> bool:
        """Narrow what ``test`` is made of; whether that can be."""
        if not self._narrow(test, int(truth), int(truth)):
            return False
        match test.op:
            case "not":
                return self._assume(test.args[0], not truth)
            case "and" | "or":
                if truth == (test.op == "and"):
                    return all(self._assume(each, truth) for each in test.args)
                for one, other in (test.args, test.args[::-1]):
                    if self.fixed(one) == int(not truth):
                        return self._assume(other, truth)
            case "lt":
                a, b = test.args
                (al, ah), (bl, bh) = self.range(a), self.range(b)
                if truth:
                    return self._narrow(a, al, bh - 1) and self._narrow(b, al + 1, bh)
                return self._narrow(a, bl, ah) and self._narrow(b, bl, ah)
            case "eq":
                a, b = test.args
                return self._compare(a, b, truth)
        return True

    def _compare(self, a: Number, b: Number, same: bool) -> bool:
        (al, ah), (bl, bh) = self.range(a), self.range(b)
        if same and a.op == "cat" and bh == 0:
            return all(self._assume(each, False) for each in a.args)
        if same:
            lo, hi = max(al, bl), min(ah, bh)
            return self._narrow(a, lo, hi) and self._narrow(b, lo, hi)
        if bl == bh and bl in (al, ah):
            return self._narrow(a, al + (al == bl), ah - (ah == bl))
        return True


def pick(test: Number, a: Number, b: Number, yes: Facts, no: Facts) -> Number:
    """A multiplexer; a constant arm gives way to the other one where that is the same constant on its path."""
    if a is b or test.op == "const":
        return a if a is b or test.lo else b
    if test.op == "not":
        return pick(test.args[0], b, a, no, yes)
    for one, other, path in ((a, b, yes), (b, a, no)):
        if path.simple(other) is one:
            return other
    for arm, other, condition in ((b, a, test), (a, b, ~test)):  # a flag that is fixed in one arm
        if arm is const(0) and (other is const(1) or other.is_flag):
            return condition & other
        if arm is const(1) and (other is const(0) or other.is_flag):
            return ~condition | other
    (al, ah), (bl, bh) = yes.range(a), no.range(b)  # what the arms know is known of both
    return node("mux", test, a, b, (min(al, bl), max(ah, bh)))


def never(n: Number, facts: Facts) -> bool:
    """Whether ``n`` is 0 in all cases, which are told apart by the tests that it is made of."""
    n = facts.simple(n, 1 << 10)
    test = _test(n, facts)
    if test is None:
        return n is const(0)
    return all(path is None or never(n, path) for path in (facts.assume(test, True), facts.assume(test, False)))


def _test(n: Number, facts: Facts) -> Number | None:
    """A test inside of ``n`` that is open, and not made of others."""
    for each in n.args if n.op in ("and", "or", "not", "mux") else ():
        if isinstance(each, Number) and facts.fixed(each) is None and (found := _test(each, facts)) is not None:
            return found
    return n if n.is_flag and n.op in ("leaf", "lt", "eq", "bit", "has", "pick", "several") else None
