"""State words of a rule: what they hold, in which ranges; and what is said where no hardware can be made of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from hw.rules.facts import Facts
from hw.rules.numbers import Number, Range, const, leaf
from hw.rules.values import ANY, NOTHING, Carried, Symbol, leaves
from step.errors import FabricError
from step.firing.reading import Rule
from step.firing.terms import BOOL, INT, MASK, TOKEN, VALUE, RuleTerm
from step.language import tokens
from step.language.tokens import Token


class HardwareError(FabricError):
    """A rule of which no hardware can be made: file, line, what it says and what would be right."""


def refuse(rule: Rule, place: RuleTerm, what: str, hint: str) -> NoReturn:
    """Raise `HardwareError` about ``place`` in ``rule``."""
    raise HardwareError(f"{rule.place(place.node)}: no hardware can be made of {what}; {hint}")


class Words:
    """The state words of a rule. Ranges grow while it is executed, again and again, until it stays inside of them.

    ``limits`` are the numbers that the rule knows: a range grows up to the next one. ``inputs`` are the numbers of the
    inputs as sources of words, behind which come those of what is held; ``held`` says by word of which input the tokens
    are that it keeps. ``state`` is the value of the word in ``kept``, which stays in a datapath.
    """

    def __init__(
        self, rule: Rule, parameters: Mapping[str, Any], limits: Iterable[int], inputs: range, state: Carried
    ) -> None:
        self._rule, self._limits, self._inputs, self._state = rule, sorted(limits), inputs, state
        self.kept: list[str] = []
        self.held: dict[str, int] = {}
        self.initial: dict[tuple[str, str], int] = {}
        self.ranges: dict[tuple[str, str], Range] = {}
        for name, place in rule.changed.items():
            initial, kind = parameters.get(name, rule.initial(name)), rule.fields[name]
            match initial:
                case int() if kind in (INT, BOOL, MASK, VALUE):
                    parts = {"": int(initial)}
                case None if kind == TOKEN:
                    parts = {"there": 0}
                case None if kind == VALUE and not self.kept:
                    self.kept.append(name)
                    parts = {} if state.rows is ANY else {"rows": 0}
                case Token(value, stop, rank, done) if value is tokens.NOTHING:
                    parts = {"there": 1, "value": 0, "stop": stop, "rank": rank, "done": int(done)}
                case _:
                    hint = f"it is {kind}, not int, bool, Mask, one value or a token"
                    refuse(rule, place, f"the state word self.{name}", hint)
            for part, number in parts.items():
                self.initial[name, part] = number
                self.ranges[name, part] = number, number

    def present(self) -> dict[str, Any]:
        """Values of the words before a firing."""
        found: dict[str, Any] = {}
        for name in self._rule.changed:
            bits = {part: leaf((name, part), *range) for (word, part), range in self.ranges.items() if word == name}
            if "" in bits:
                found[name] = bits[""]
                continue
            if name in self.kept:
                found[name] = self._state._replace(rows=bits.get("rows", ANY))
                continue
            source = const(self._inputs.stop + self.held[name]) if name in self.held else ANY
            stop, rank, done, control, rows = (
                bits.get(part, ANY) for part in ("stop", "rank", "done", "control", "rows")
            )
            carries = Carried(bits["value"], source, control, rows) if "value" in bits else ANY
            found[name] = Symbol(stop, rank, done, carries, bits["there"])
        return found

    def assigned(self, name: str, value: Any, facts: Facts, place: RuleTerm) -> Any:
        """``value`` as the word ``name`` holds it from now on, whose range has room for it."""
        if (name, "") in self.initial:
            if not isinstance(value, Number):
                refuse(self._rule, place, f"this value of self.{name}", "it is a number")
            self._widen(name, "", value, facts, place)
            return value
        if name in self.kept:
            if not isinstance(value, Carried) or value.source is ANY or value.source is self._state.source:
                refuse(self._rule, place, f"this value of self.{name}", "it is what a function makes of it")
            if value.rows is not ANY:
                self._widen(name, "rows", value.rows, facts, place)
            return value
        token = NOTHING if value is None else value
        if not isinstance(token, Symbol):
            refuse(self._rule, place, f"this value of self.{name}", "it is a token, or None")
        for part, number in token.numbers().items():
            self._widen(name, part, number, facts, place)
        for source in () if token.carries is ANY else leaves(token.carries.source):
            port, count = source - self._inputs.start, len(self._inputs)
            one = port < 2 * count and self.held.setdefault(name, port % count) == port % count
            if not one or list(self.held.values()).count(port % count) > 1:
                refuse(self._rule, place, f"what self.{name} holds", "it may hold tokens of one input alone")
        return token

    def _widen(self, name: str, part: str, number: Number, facts: Facts, place: RuleTerm) -> None:
        lo, hi = facts.range(number)
        low, high = self.ranges.get((name, part), (lo, hi))
        data = not part if self._rule.fields[name] in (VALUE, MASK) else part in ("control", "rows")
        if not data and (lo < 0 or hi > self._limits[-1]):
            hint = "compare it with a parameter, a constant or the stop of a token before it changes"
            refuse(self._rule, place, f"self.{name}, which has no bounds", hint)
        if hi > high:
            high = hi if data else next(each for each in self._limits if each >= hi)
        self.ranges[name, part] = min(lo, low), high
