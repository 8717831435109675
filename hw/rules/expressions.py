"""The expressions of a rule: numbers out of numbers, with what its path knows, and tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from hw.links.layout import TokenFormat
from hw.links.packing import items_of
from hw.rules.numbers import Number, const, equal, leaf, less, node
from hw.rules.values import (
    ANY,
    Arriving,
    Beats,
    Carried,
    Listing,
    Literal,
    Path,
    Port,
    Stored,
    Symbol,
    join,
    joined,
    known,
)
from hw.rules.words import refuse
from step.firing.declared import Applied
from step.firing.reading import Rule
from step.firing.terms import BOOL, INT, MASK, RuleTerm
from step.language.loops import Stops, Walk
from step.language.tokens import NOTHING, UNKNOWN, Token

SOURCE = 2
"""The source that input 0 is, and behind the inputs what is held of each; smaller numbers would be taken for truth."""

BASE_BITS = 32
"""Bits of an address."""

TABLE = 32
"""A table with more entries becomes gates by the hundred."""

COMPARED: Mapping[str, Callable[[Number, Number], Number]] = {
    "==": equal,
    "!=": lambda a, b: ~equal(a, b),
    "<": less,
    ">=": lambda a, b: ~less(a, b),
    ">": lambda a, b: less(b, a),
    "<=": lambda a, b: ~less(b, a),
}


class Expressions:
    """Expressions of a rule over the tokens in ``fronts``, by ``parameters`` and ``outputs``.

    ``sources`` are all that words come from: inputs, parts of them and constants, each by its number. One that
    ``applies`` a function may have to know the rows of its state (``counts_rows``). State words in ``counters`` go
    through the entries of loops or ranges, and of each there are the present ones.
    """

    def __init__(
        self, rule: Rule, parameters: Mapping[str, Any], fronts: Sequence[Symbol], outputs: Sequence[TokenFormat]
    ) -> None:
        self.rule, self.parameters, self.fronts, self.outputs = rule, parameters, fronts, outputs
        self.present: dict[str, Any] = {}
        self.counters: dict[str, list[Number]] = {}
        applied = [each for each in parameters.values() if isinstance(each, Applied)]
        self.applies, self.counts_rows = bool(applied), any(each.rows is not None for each in applied)
        ports = range(len(fronts))
        in_front, held = [Arriving((port,)) for port in ports], [Arriving((port,), held=(port,)) for port in ports]
        self.sources: list[Any] = [*[None] * SOURCE, *in_front, *held]

    def source(self, words: Literal | Arriving | Listing | str) -> Number:
        """The number of a source that is no input."""
        if words not in self.sources:
            self.sources.append(words)
        return const(self.sources.index(words))

    def call(self, term: RuleTerm, path: Path) -> Any:
        """The value of a word of the rule, which also says something."""
        raise NotImplementedError

    def refuse(self, place: RuleTerm, what: str, hint: str) -> NoReturn:
        """Raise `HardwareError` about ``place``."""
        refuse(self.rule, place, what, hint)

    def truth(self, test: RuleTerm, path: Path) -> Number:
        """Whether ``test`` holds."""
        match test.op, *test.parts:
            case "and" | "or" as op, *parts:
                every = op == "and"
                found, way = const(int(every)), path
                for each in parts:
                    more = self.truth(each, way)
                    if way.said != path.said:
                        self.refuse(each, f"{each} inside of a condition", "say it before that")
                    found = found & more if every else found | more
                    behind = way.fork(more)[0 if every else 1]
                    if behind is None:
                        break
                    way = behind
                return found
            case "not", operand:
                return ~self.truth(operand, path)
        found = self.value(test, path)
        if not isinstance(found, Number):
            self.refuse(test, f"{test} as a condition", "say `is None` of what may be missing")
        return found

    def number(self, term: RuleTerm, path: Path) -> Number:
        """A term that is a number."""
        found = self.value(term, path)
        if not isinstance(found, Number):
            self.refuse(term, f"{term} here", "a number is wanted")
        return found

    def value(self, term: RuleTerm, path: Path) -> Any:
        """The meaning of ``term`` on ``path``, as far as it is known there."""
        return known(self._value(term, path), path.facts)

    def _value(self, term: RuleTerm, path: Path) -> Any:
        match term.op, *term.parts:
            case "constant", value:
                return self._constant(term, value)
            case "known", value:
                return value
            case "local", name if ("name", name) in path.said:
                return path.said["name", name]
            case "field", name:
                return self._own(term, name, path)
            case "butlast", ports:
                return self.value(ports, path)[:-1]
            case "ports", side:
                count = len(self.fronts if side == "inputs" else self.outputs)
                return [Port(side[:-1], number) for number in range(count)]
            case "as", inner:
                return self._as(term, self.value(inner, path), path)
            case "part", token, part:
                return self._part(term, self.value(token, path), part)
            case "and" | "or" | "not", *_:
                return self.truth(term, path)
            case "missing", token:
                found = self.value(token, path)
                if not isinstance(found, Symbol | None):
                    self.refuse(term, str(term), "only tokens may be missing")
                return const(1) if found is None else ~found.there
            case "compare", *parts:
                found = const(1)
                for each in parts:
                    a, b = (self.number(operand, path) for operand in each.parts)
                    found &= path.facts.simple(COMPARED[each.op](a, b), 0)
                return found
            case "+" | "-" as op, *parts:
                a, b = (self.number(each, path) for each in parts)
                return a + b if op == "+" else a - b
            case "negative", operand:
                return const(0) - self.number(operand, path)
            case "either", test, body, orelse:
                return self.either(self.truth(test, path), body, orelse, path)
            case "entry", listed, place:
                found = self.value(listed, path)
                if isinstance(found, Stored):
                    return Carried(const(1))
                return self._entry(term, found, self.number(place, path), path)
            case "call" | "apply" | "resize", *_:
                return self.call(term, path)
        return self.refuse(term, str(term), "it compares, adds and subtracts, and says the words of step.firing")

    def either(self, test: Number, body: RuleTerm, orelse: RuleTerm, path: Path) -> Any:
        """``body`` where ``test`` holds, else ``orelse``."""
        yes, no = path.fork(test)
        if yes is None or no is None:
            return self.value(body if no is None else orelse, path)
        a, b = self.value(body, yes), self.value(orelse, no)
        path.said.update(joined(test, yes, no))
        return join(test, a, b, yes.facts, no.facts)

    def _as(self, term: RuleTerm, found: Any, path: Path) -> Any:
        """``found`` as something of the kind of ``term``."""
        if term.kind == INT and not isinstance(found, Number):
            self.refuse(term, f"{term} here", "a number is wanted")
        if term.kind == MASK and isinstance(found, Carried):
            if found.control is ANY:
                self.refuse(term, str(term), "a mask is the value of a selector")
            return found.control
        if term.kind == BOOL and isinstance(found, list):
            listed, found = found, const(0)
            for each in listed:
                found |= each.when if isinstance(each, Port) else const(1)
        elif term.kind == BOOL and isinstance(found, Number) and not found.is_flag:
            found = path.facts.simple(~equal(found, const(0)), 0)
        return found

    def _own(self, term: RuleTerm, name: str, path: Path) -> Any:
        if name in self.present:
            present, changed = self.present[name], path.flag("next", name)
            if changed is const(0):
                return present
            return join(changed, path.said["word", name], present, path.facts, path.facts)
        found = self.parameters.get(name, self.rule.initial(name))
        if found is None and name not in self.parameters:
            self.refuse(term, f"self.{name}", f"it has {', '.join(['inputs', 'outputs', *self.parameters])}")
        return self._constant(term, found)

    def _constant(self, term: RuleTerm, found: Any) -> Any:
        """The meaning of a parameter, or of a name of the rule's file."""
        match found:
            case None:
                return None
            case int():
                return const(int(found))
            case Token(value, stop, rank, done) if value in (NOTHING, UNKNOWN):
                return Symbol(const(stop), const(rank), const(int(done)), Carried(const(int(value is UNKNOWN))))
            case Stops() | Beats() | Stored():
                return found
            case tuple():
                return [self._constant(term, each) for each in found]
            case np.ndarray() | Literal():
                literal = found if isinstance(found, Literal) else Literal(items_of(found))
                control = const(literal.items[0]) if len(literal.items) == 1 else ANY
                return Carried(const(1), self.source(literal), control, const(0) if self.counts_rows else ANY)
        return self.refuse(term, str(term), "it names integers, tuples of them, values, Done and empties")

    def _part(self, term: RuleTerm, token: Any, part: str) -> Any:
        if not isinstance(token, Symbol):
            self.refuse(term, str(term), "only tokens have parts")
        if part in ("value", "has_value"):
            return token.carries if part == "value" or token.carries is ANY else token.carries.there
        return getattr(token, part)

    def _entry(self, term: RuleTerm, listed: Any, index: Number, path: Path) -> Any:
        """An entry of a table, or a channel."""
        lo, hi = path.facts.range(index)
        if lo == hi < 0:  # from the end
            lo, hi = lo + len(listed), hi + len(listed)
        if lo < 0 or hi >= len(listed):
            reach = f"it has {len(listed)} entries, and the index is between {lo} and {hi} here"
            self.refuse(term, str(term), reach)
        if isinstance(listed, Beats):
            base = leaf(("port", "base", ""), 0, (1 << BASE_BITS) - 1 - listed.walk.bounds[1])
            return base + self._entry(term, listed.walk, index, path)
        if lo == hi:
            return const(listed[lo]) if isinstance(listed, Stops | Walk) else listed[lo]
        if isinstance(listed, Stops):
            return self.counted(term, index, listed, listed.most) if listed.most else const(0)
        if isinstance(listed, Walk):
            if len(listed.extents) == 1 and index not in self.present.values():
                return const(listed.offset) + node("times", index, *listed.strides, hi)
            return self.counted(term, index, listed, listed.bounds[1])
        if not isinstance(listed[0], Number):
            self.refuse(term, str(term), "which one it is must be known without a run")
        if len(listed) > TABLE:
            self.refuse(term, f"a table of {len(listed)} entries", f"it may have {TABLE}")
        return node("table", tuple(each.lo for each in listed), index)

    def counted(self, term: RuleTerm, place: Number, loops: Stops | Walk | range, most: int) -> Number:
        """The entry of ``loops``, ``most`` at most, at ``place``, a state word that goes through all of them."""
        entry, names = node("entry", place, loops, most), [name for name, word in self.present.items() if word is place]
        if entry.op == "const":  # they are all alike
            return entry
        entries = self.counters.setdefault(names[0], [entry]) if names else []
        if not any(_alike(loops, each.args[1]) for each in entries):
            self.refuse(term, str(term), "a state word of its own goes through what it lists")
        if entry not in entries:
            entries.append(entry)
        return entry


def _alike(loops: Stops | Walk | range, others: Stops | Walk | range) -> bool:
    """Whether both go round alike."""
    if isinstance(loops, range) or isinstance(others, range):
        return loops == others
    return loops.extents == others.extents


def given(value: Any, place: RuleTerm) -> RuleTerm:
    """A term that stands for a ``value`` which is known."""
    return RuleTerm("known", place.kind, (value,), place.node)
