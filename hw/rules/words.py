"""State words: the ranges that a rule itself gives them, and the registers that this takes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from hw.rules.facts import Facts, Law
from hw.rules.numbers import Number, Range, leaf
from hw.rules.text import Text
from hw.rules.values import ANY, NOTHING, Carried, Front, Kept, Symbol, sources

PARTS = ("stop", "rank", "done", "value", "there")


def parts_of(token: Symbol) -> dict[str, Any]:
    """The fields of ``token`` that are numbers, besides its control."""
    value = token.carries if token.carries is ANY else token.carries.there
    return {"stop": token.stop, "rank": token.rank, "done": token.done, "value": value, "there": token.there}


class Words:
    """The state words of a rule. Ranges grow while it is executed, again and again, until it stays inside of them.

    ``limits`` are the numbers that the rule knows: a range grows up to the next one. ``control`` has the widths of
    values in the headers of inputs, where there are any.
    """

    def __init__(self, text: Text, parameters: Mapping[str, Any], limits: Iterable[int], control: list[int]) -> None:
        self._text, self._limits, self._control = text, sorted(limits), control
        self.held: dict[str, int] = {}
        """By word, the input whose tokens it keeps."""
        self._initial: dict[str, Any] = {}
        self._ranges: dict[str, dict[str, Range]] = {}
        for name, place in text.changed.items():
            self._initial[name] = initial = parameters.get(name, text.initial(name))
            match str(text.fields[name].type) if name in text.fields else "nothing that it declares":
                case "int" | "bool":
                    self._ranges[name] = {"": (int(initial), int(initial))}
                case "Token | None" if initial is None:
                    self._ranges[name] = {"there": (0, 0)}
                case kind:
                    text.refuse(place, f"the state word self.{name}", f"it is {kind}, not int, bool or Token | None")

    def ranges(self) -> dict[str, dict[str, Range]]:
        """As they are by now."""
        return {name: dict(each) for name, each in self._ranges.items()}

    def present(self) -> dict[str, Any]:
        """What the words hold before a firing."""
        found: dict[str, Any] = {}
        for name, ranges in self._ranges.items():
            if "" in ranges:
                found[name] = leaf((name,), *ranges[""])
                continue
            parts: dict[str, Any] = {
                each: leaf((name, each), *ranges[each]) if each in ranges else ANY for each in PARTS
            }
            bits = self._control[self.held[name]] if name in self.held else 0
            control = leaf((name, "control"), 0, (1 << bits) - 1) if bits else ANY
            carries = ANY if parts["value"] is ANY else Carried(parts["value"], Kept(name), control)
            found[name] = Symbol(parts["stop"], parts["rank"], parts["done"], carries, parts["there"])
        return found

    def initial(self, name: tuple[str, ...]) -> int:
        """What the register ``name`` begins with."""
        return int(self._initial[name[0]] or 0) if len(name) == 1 else 0

    @staticmethod
    def laws(present: Mapping[str, Any]) -> dict[Number, Law]:
        """What holds of the words; tokens that a rule makes are taken to be tokens of the language."""
        laws: dict[Number, Law] = {}
        for each in present.values():
            if isinstance(each, Symbol) and not any(part is ANY for part in parts_of(each).values()):
                laws |= each.laws()
        return laws

    def assigned(self, name: str, value: Any, facts: Facts, place: ast.AST) -> Any:
        """``value`` as the word ``name`` holds it from now on, whose range has room for it."""
        if isinstance(self._initial[name], int):
            if not isinstance(value, Number):
                self._text.refuse(place, f"this value of self.{name}", "it is a number")
            self._widen(name, "", value, facts, place)
            return value
        token = NOTHING if value is None else value
        if not isinstance(token, Symbol):
            self._text.refuse(place, f"this value of self.{name}", "it is a token, or None")
        token = token.on(facts)
        for part, number in parts_of(token).items():
            if number is not ANY:
                self._widen(name, part, number, facts, place)
        for source in () if token.carries is ANY else sources(token.carries.source):
            port = source.port if isinstance(source, Front) else None
            if isinstance(source, Kept) and source.word == name:
                continue
            if port is None or self.held.setdefault(name, port) != port:
                self._text.refuse(place, f"what self.{name} holds", "it may hold tokens of one input alone")
        return token

    def _widen(self, name: str, part: str, number: Number, facts: Facts, place: ast.AST) -> None:
        lo, hi = facts.range(number)
        low, high = self._ranges[name].get(part, (lo, hi))
        if lo < 0 or hi > self._limits[-1]:
            hint = "compare it with a parameter, a constant or the stop of a token before it changes"
            self._text.refuse(place, f"self.{name}, which has no bounds", hint)
        if hi > high:
            high = next(each for each in self._limits if each >= hi)
        self._ranges[name][part] = min(lo, low), high
