"""State words that count up and decide nothing but which entries are next: a run repeats although they go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from step.firing.reading import Rule
from step.firing.terms import INT, INTS, STREAM, TILES, Kind, RuleTerm, within
from step.firing.words import put
from step.language.tokens import Token


@dataclass
class Counter:
    """Uses of the ``word`` in a rule: fields that it looks up with it, and ``to``, the channel into which addresses go.

    It looks up tokens of a ``stream``, ``entries`` that decide, ``tiles``, and addresses that are ``sent``; without
    these the word is the address.
    """

    word: str
    stream: str | None = None
    entries: str | None = None
    tiles: str | None = None
    sent: str | None = None
    to: RuleTerm | None = None


def counter(rule: Rule) -> Counter | None:
    """The counter among the state words that ``rule`` changes."""
    words = (name for name, kind in rule.fields.items() if name in rule.changed and kind == INT)
    return next((found for word in words if (found := _Uses(rule, word).counter) is not None), None)


class _Uses:
    """Finds the uses of ``word``; ``counter`` is None where one is none that a counter has."""

    def __init__(self, rule: Rule, word: str) -> None:
        self._fields, self._word = rule.fields, word
        self._seen: set[int] = set()
        self._bounds: set[str] = set()
        self._found: dict[str, str] = {}
        self._to: list[RuleTerm] = []
        self._fits = True
        terms = [*within(rule.body)]
        for term in terms:  # what holds others comes before them
            self._look(term)
        named = {id(term) for term in terms if self._is_word(term)}
        ends = self._bounds <= {self._found.get("entries"), self._found.get("sent")}
        self._fits &= named <= self._seen and ends and len({*map(str, self._to)}) <= 1
        to = self._to[0] if self._to else None
        used = bool(self._found or to)
        self.counter = Counter(word, **self._found, to=to) if self._fits and used else None

    def _look(self, term: RuleTerm) -> None:
        match term.op, *term.parts:
            case "set", self._word, RuleTerm(op=op, parts=parts):
                self._fits &= op == "+" and self._is_word(parts[0]) and parts[1].parts == (1,)
                self._seen |= {id(parts[0])}
            case "call", word, to, RuleTerm(parts=(made, RuleTerm(op="as", parts=(value,)))) if word is put:
                if made is Token and self._is_word(value):
                    self._seen.add(id(value))
                    self._to.append(to)
                elif made is Token and self._looks_up(value, INTS, "sent"):
                    self._to.append(to)
            case "entry", RuleTerm(op="field", kind=kind, parts=(tiles,)), place if kind == TILES:
                if self._looks_up(place, INTS, None):
                    self._note("tiles", tiles)
            case "entry", *_:
                self._looks_up(term, STREAM, "stream")
                self._looks_up(term, INTS, "entries")
            case "==", word, RuleTerm(op="call", parts=(_, RuleTerm(op="field", parts=(listed,)))):
                if self._is_word(word):
                    self._seen.add(id(word))
                    self._bounds.add(listed)

    def _looks_up(self, term: RuleTerm, kind: Kind, use: str | None) -> bool:
        """Whether ``term`` is an entry of a field of ``kind`` that nobody saw yet; it is noted as that ``use``."""
        match term.op, *term.parts:
            case "entry", RuleTerm(op="field", kind=found, parts=(field,)), word:
                if found == kind and self._is_word(word) and id(word) not in self._seen:
                    self._seen.add(id(word))
                    if use is not None:
                        self._note(use, field)
                    return True
        return False

    def _note(self, use: str, field: str) -> None:
        self._fits &= self._found.setdefault(use, field) == field

    def _is_word(self, term: Any) -> bool:
        return isinstance(term, RuleTerm) and (term.op, term.parts) == ("field", (self._word,))
