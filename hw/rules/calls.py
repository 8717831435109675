"""The words of rules: what each of them gives, and what it says."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from hw.rules.expressions import Expressions, given
from hw.rules.facts import Law, never
from hw.rules.numbers import Number, bit, const, equal, has, leaf, less, mask_of, node
from hw.rules.values import (
    ANY,
    COMPUTED,
    RESULT,
    STATE,
    Arriving,
    Carried,
    Listing,
    Literal,
    Path,
    Port,
    Symbol,
    picked,
)
from step.firing import words
from step.firing.declared import Applied
from step.firing.terms import TOKENS, RuleTerm
from step.language.faults import Fault, aligned, rows_of, same_rows
from step.language.reduction import Distinct
from step.language.tokens import Token, empty
from step.lowering.links import Span

DONE = ("take", "put", "next")
BEHIND = {"need": ("room", *DONE), "fault": ("room", *DONE), "room": DONE}
"""By word, what comes behind it in a firing, which is all or nothing."""
SEEN = words.need_each, words.need_any, words.front, words.waiting, words.going, words.oldest
"""Words that ask what is there by now."""


class Calls(Expressions):
    """The calls of a rule; ``too_late`` are places where words stand behind those that they come before, ``aligned``
    the inputs that are to agree with the first; ``passing`` are those of `step.firing.words.need_each`, ``laws`` what
    holds of every token."""

    too_late: dict[str, RuleTerm]
    aligned: set[int]
    passing: Any
    laws: dict[Number, Law]
    compares_ages = False

    def call(self, term: RuleTerm, path: Path) -> Any:
        match term.op, *term.parts:
            case "resize", tile:
                return self._resize(path, self.value(tile, path))
            case "call", word, *operands if word in WORDS:
                if word in SEEN:
                    self.in_order(term, path, "need")
                arguments = [self.value(each, path) for each in operands]
                return WORDS[word](self, term, path, *arguments)
            case "apply", name, *operands:
                values: list[Any] = []
                for each in operands:
                    found = self.value(each, path)
                    values += [token.carries for token in found] if each.kind == TOKENS else [found]
                match self.parameters.get(name):
                    case words.side_by_side.__name__:
                        return self._arriving(term, values)
                    case Arriving(first=first):
                        return self._arriving(term, values, first)
                    case Applied() as applied:
                        return self._applied(term, path, applied, values)
                    case Listing() as listing:
                        return self._listed(term, listing, *values)
                    case Distinct(bound=bound):
                        return self._distinct(term, path, bound, *values)
        said = ", ".join(sorted([*(each.__name__ for each in WORDS), "fault"]))
        functions = "a parameter that is side_by_side, an Item, Listed or Applied"
        return self.refuse(term, str(term), f"it says {said}, and {functions}")

    def _say(self, call: RuleTerm, path: Path, word: str, side: str, port: Any) -> int:
        """Note that ``word`` is said of ``port``."""
        if not isinstance(port, Port) or port.side != side:
            self.refuse(call, str(call), f"{word} is said of one {side}")
        if word in ("take", "put") and not never(path.flag(word, port.number), path.facts):
            self.refuse(call, f"a second {word} of {side} {port.number}", "a firing has one at most")
        there = path.flag("need", port.number) | _shows(port)
        if word == "take" and not never(~there, path.facts):
            self.refuse(call, f"a take of input {port.number} without need", "say need of it before")
        self.in_order(call, path, word)
        path.said[word, port.number] = const(1)
        return port.number

    def in_order(self, place: RuleTerm, path: Path, word: str) -> None:
        """Note a ``word`` behind what changes something: all that may keep the firing away comes before."""
        if any(key[0] in BEHIND.get(word, ()) for key in path.said):
            self.too_late.setdefault(word, place)

    def _put(self, call: RuleTerm, path: Path, port: Any, token: Any) -> None:
        if not isinstance(token, Symbol):
            self.refuse(call, str(call), "what is put is a token")
        number = self._say(call, path, "put", "output", port)
        format, bits = self.outputs[number], token.numbers()
        control = (1 << format.bits) - 1 if format.control else None
        for name, most in (("stop", format.rank), ("rank", format.rank), ("control", control)):
            lo, hi = path.facts.range(bits[name]) if name in bits else (0, 0)
            if most is not None and (lo < 0 or hi > most):
                hint = f"there it is at most {most}: say so before, or by a fault"
                self.refuse(call, f"a {name} between {lo} and {hi} in output {number}", hint)
        path.said["token", number] = token

    def _token(self, call: RuleTerm, path: Path, carries: Any, *parts: Number) -> Symbol:
        if isinstance(carries, Number):
            fixed = path.facts.fixed(carries)
            carries = Carried(const(1), self.source(COMPUTED if fixed is None else Literal((fixed,))), carries)
        if not isinstance(carries, Carried):
            self.refuse(call, str(call), "its value is one of a token, or a parameter")
        stop, rank, done = (*parts, *[const(0)] * 3)[:3]
        return Symbol(stop, rank, done, carries)

    def _empty(self, call: RuleTerm, path: Path, rank: Number, stop: Number | None = None) -> Symbol:
        return Symbol(rank if stop is None else stop, rank, const(0), Carried(const(0)))

    def _aligned(self, call: RuleTerm, path: Path, tokens: list[Symbol]) -> Symbol:
        self.aligned |= {*range(1, len(tokens))}
        for port in range(1, len(tokens)):
            self._fails(path, leaf(("differ", 0, port), 0, 1), Fault.STOPS_DISAGREE)
        return tokens[0]

    def _fails(self, path: Path, wrong: Number, fault: Fault) -> None:
        """Break the contract where something is ``wrong``."""
        path.said["fails",] = path.said.get(("fails",), (const(0),))[0] | wrong, fault

    def _arriving(self, call: RuleTerm, values: list[Carried], first: int | Span | None = None) -> Carried:
        """The values of inputs one after the other, or an item that begins with word ``first`` of one."""
        found = [each.source for each in values if isinstance(each, Carried) and isinstance(each.source, Number)]
        whole = [self.sources[each.lo] for each in found if each.op == "const"]
        if len(whole) < len(values) or not all(isinstance(each, Arriving) and each.is_whole for each in whole):
            self.refuse(call, str(call), "its values are those of inputs")
        held = tuple(port for each in whole for port in each.held)
        if any(self.fronts[port].carries.control is not ANY for port in held):
            self.refuse(call, str(call), "control that is held has no words: take it when it goes out")
        rows = next((each.rows for each in values if each.rows is not ANY), ANY)
        words = Arriving(tuple(each.ports[0] for each in whole), first, held)
        return Carried(const(1), self.source(words), rows=rows)

    def _applied(self, call: RuleTerm, path: Path, applied: Applied, values: list[Any]) -> Carried:
        """Result of the datapath for the values of all inputs, behind its state."""
        sources = [each.source if isinstance(each, Carried) else ANY for each in values]
        begins, kept = (self._picked(sources[0], each) for each in (self.parameters.get("initial"), STATE))
        if applied.reduces and not never(~(begins | kept), path.facts):
            self.refuse(call, str(call), "its first operand is the state, or the initial one")
        if sources[applied.reduces :] != [each.carries.source for each in self.fronts]:
            self.refuse(call, str(call), "its operands are the values of all inputs")
        if not never(path.flag("applies"), path.facts):
            self.refuse(call, f"a second {call}", "a firing has one at most")
        path.said["applies",], path.said["begins",] = const(1), begins if applied.reduces else const(0)
        rows = ANY
        if applied.rows is not None and self.outputs[0].most_rows:
            rows = reduce(operator.add, [*(values[place].rows for place in applied.rows.of), const(applied.rows.more)])
        return Carried(const(1), self.source(RESULT), rows=rows)

    def _picked(self, source: Any, wanted: Any) -> Number:
        return picked(source, lambda each: const(int(self.sources[each] == wanted)))

    def _distinct(self, call: RuleTerm, path: Path, bound: int, seen: Number, value: Carried) -> Number:
        """The mask ``seen`` with the index that a value is, which it must not have."""
        index = self._control(call, value)
        one = node("only", index, bound)
        self._fails(path, ~less(index, const(bound)) | has(seen, one), Fault.OUT_OF_RANGE)
        return node("with", seen, one, bound)

    def _listed(self, call: RuleTerm, listing: Listing, number: Number) -> Carried:
        """The value with a ``number``."""
        format, control = self.outputs[0], ANY
        if not isinstance(listing.values, range):
            control = node("table", tuple(sum(each.items) for each in listing.values), number)
        elif format.items:
            number = control = self.counted(call, number, listing.values, (1 << format.bits) - 1)
        words = self.source(replace(listing, number=number))
        return Carried(const(1), words, control if format.control else ANY)

    def _control(self, call: RuleTerm, value: Any) -> Number:
        """The control of a ``value`` that decides."""
        if not isinstance(value, Carried) or value.control is ANY:
            self.refuse(call, str(call), "it is said of a value that is control")
        return value.control

    def _targets(self, call: RuleTerm, path: Path, selector: Any) -> Number:
        """Number of bits that are set: pairs are added, then pairs of those sums."""
        mask = self._control(call, selector)
        sums = [bit(mask, place) for place in range(mask.hi.bit_length())]
        while len(sums) > 1:
            alone = sums[len(sums) & ~1 :]
            sums = [one + other for one, other in zip(sums[::2], sums[1::2], strict=False)] + alone
        return sums[0]

    def _rows_of(self, call: RuleTerm, path: Path, tile: Any) -> Number:
        if not isinstance(tile, Carried) or tile.rows is ANY:
            self.refuse(call, str(call), "it is said of tiles of dynamic size")
        return tile.rows

    def _reserve(self, call: RuleTerm, path: Path, port: Any, cycles: Number) -> None:
        if cycles is not const(self.parameters.get("burst", 0)):
            self.refuse(call, str(call), "a result keeps its output busy for self.burst")
        path.said["reserve", port.number] = const(1)

    def _resize(self, path: Path, tile: Any) -> None:
        """The firing takes the time of ``tile``, or of so many rows, where these are dynamic."""
        if any(each.carries.rows is not ANY for each in self.fronts):
            path.said["resized",] = const(1)
            path.said["resize",] = tile.rows if isinstance(tile, Carried) else tile

    def _need_each(self, call: RuleTerm, path: Path, ports: list[Port], mask: Number) -> Symbol:
        """The token in front of the ``ports`` in ``mask``: theirs, which are one or alike, or nothing but zeros."""
        if not mask.is_kept:
            self.refuse(call, str(call), "a state word says which inputs they are")
        for place, each in enumerate(ports):
            key = "need", each.number
            path.said[key] = path.flag(*key) | bit(mask, place)
        numbers = [self.fronts[each.number].numbers() for each in ports]
        if any(each.keys() != numbers[0].keys() for each in numbers):
            self.refuse(call, str(call), "they are inputs of one kind")
        found = {part: node("pick", mask, *(each[part] for each in numbers)) for part in numbers[0] if part != "there"}
        self.passing = Arriving(tuple(each.number for each in ports), mask=mask)
        carries = Carried(found["value"], self.source(self.passing), found.get("control", ANY), found.get("rows", ANY))
        token = Symbol(found["stop"], found["rank"], found["done"], carries)
        self.laws |= token.laws()
        return token

    def _need_any(self, call: RuleTerm, path: Path, ports: list[Port], mask: Number) -> None:
        path.said["starves",] = path.flag("starves") | equal(self._waiting(call, path, ports, mask), const(0))

    def _waiting(self, call: RuleTerm, path: Path, ports: list[Port], mask: Number) -> Number:
        return node("within", *self._seen(ports, mask))

    def _seen(self, ports: list[Port], mask: Number) -> tuple[Number, Number]:
        """Ports that show a token, and the mask they are to be in: without those that pass, where ``mask`` is."""
        shown, passing = mask_of([*map(_shows, ports)]), None if self.passing is None else self.passing.mask
        if mask.op == "without" and mask.args[1] is passing:
            return node("without", shown, passing), mask.args[0]
        return shown, mask

    def _oldest(self, call: RuleTerm, path: Path, ports: list[Port], mask: Number) -> Number:
        """Ages count from when a token is seen: what passes is not, as it is taken (`check_moves`) or stays."""
        if self.passing is None or self.passing.ports != tuple(each.number for each in ports):
            self.refuse(call, str(call), "say need_each of these inputs before")
        self.compares_ages = True
        _, among = seen = self._seen(ports, mask)
        if among is mask:
            self.refuse(call, str(call), "it is the oldest of others than those that pass")
        return node("oldest", *seen)

    def _chosen(self, call: RuleTerm, path: Path, ports: list[Port], mask: Number) -> list[Port]:
        return [each._replace(when=bit(mask, place)) for place, each in enumerate(ports)]


def _shows(port: Port) -> Number:
    """Whether an input shows a token."""
    return leaf(("input", port.number, "visible"), 0, 1)


def _going(rule: Calls, ports: list[Port]) -> Number:
    return mask_of([~(_shows(each) & rule.fronts[each.number].done) for each in ports])


WORDS: Mapping[Any, Callable[..., Any]] = {
    words.need: lambda rule, call, path, port: rule.fronts[rule._say(call, path, "need", "input", port)],
    words.need_all: lambda rule, call, path, ports: [WORDS[words.need](rule, call, path, each) for each in ports],
    words.room: lambda rule, call, path, port: rule._say(call, path, "room", "output", port),
    words.take: lambda rule, call, path, port: rule._say(call, path, "take", "input", port),
    min: lambda rule, call, path, a, b: rule.either(less(a, b), given(a, call), given(b, call), path),
    words.put: Calls._put,
    words.chosen: Calls._chosen,
    words.reserve: Calls._reserve,
    words.number: lambda rule, call, path, value: rule._control(call, value),
    words.targets_in: Calls._targets,
    rows_of: Calls._rows_of,
    words.need_each: Calls._need_each,
    words.need_any: Calls._need_any,
    words.front: lambda rule, call, path, port: rule.fronts[port.number]._replace(there=_shows(port)),
    words.waiting: Calls._waiting,
    words.going: lambda rule, call, path, ports: _going(rule, ports),
    len: lambda rule, call, path, listed: const(len(listed)),
    words.every: lambda rule, call, path, ports: const((1 << len(ports)) - 1),
    words.oldest: Calls._oldest,
    words.several: lambda rule, call, path, mask: node("several", mask),
    words.first: lambda rule, call, path, mask: node("first", mask),
    words.without: lambda rule, call, path, mask, others: node("without", mask, others),
    words.only: lambda rule, call, path, mask: mask,
    aligned: Calls._aligned,
    same_rows: lambda rule, call, path, tokens, ports: None,  # `aligned` says it of tiles of dynamic size
    Token: Calls._token,
    empty: Calls._empty,
}
"""By function, what it does here."""
