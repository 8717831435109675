"""State words that count up and decide nothing but which entries are next: a run repeats although they go on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from step.firing.terms import INT, INTS, STREAM, TILES, Kind


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
    to: ast.expr | None = None


def counter(function: ast.FunctionDef, fields: Mapping[str, Kind], changed: Mapping[str, Kind]) -> Counter | None:
    """The counter among the state words that ``function``, a rule of a machine with ``fields``, has ``changed``."""
    for word in (name for name, kind in changed.items() if kind == INT):
        found = _Uses(function, fields, word).counter
        if found is not None:
            return found
    return None


class _Uses:
    """Finds the uses of ``word``; ``counter`` is None where one is none that a counter has."""

    def __init__(self, function: ast.FunctionDef, fields: Mapping[str, Kind], word: str) -> None:
        self._fields, self._word = fields, word
        self._seen: set[int] = set()
        self._bounds: set[str] = set()
        self._found: dict[str, str] = {}
        self._to: list[ast.expr] = []
        self._fits = True
        for node in ast.walk(function):  # what holds others comes before them
            self._look(node)
        named = {id(node) for node in ast.walk(function) if self._is_word(node)}
        ends = self._bounds <= {self._found.get("entries"), self._found.get("sent")}
        self._fits &= named <= self._seen and ends and len({ast.dump(each) for each in self._to}) <= 1
        to = self._to[0] if self._to else None
        used = bool(self._found or to)
        self.counter = Counter(word, **self._found, to=to) if self._fits and used else None

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.AugAssign(target=word, op=ast.Add(), value=ast.Constant(value=1)) if self._is_word(word):
                self._seen.add(id(word))
            case ast.Call(func=ast.Name(id="put"), args=[to, ast.Call(func=ast.Name(id="Token"), args=[value])]):
                if self._is_word(value):
                    self._seen.add(id(value))
                    self._to.append(to)
                elif self._looks_up(value, INTS, "sent"):
                    self._to.append(to)
            case ast.Subscript(value=ast.Attribute(attr=tiles), slice=place) if self._fields.get(tiles) == TILES:
                if self._looks_up(place, INTS, None):
                    self._note("tiles", tiles)
            case ast.Subscript():
                self._looks_up(node, STREAM, "stream")
                self._looks_up(node, INTS, "entries")
            case ast.Compare(left=word, ops=[ast.Eq()], comparators=[ast.Call(func=ast.Name(id="len"), args=[of])]):
                if self._is_word(word) and isinstance(of, ast.Attribute):
                    self._seen.add(id(word))
                    self._bounds.add(of.attr)

    def _looks_up(self, node: ast.AST, kind: Kind, use: str | None) -> bool:
        """Whether ``node`` is an entry of a field of ``kind`` that nobody saw yet; it is noted as that ``use``."""
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=field), slice=word):
                if self._is_word(word) and id(word) not in self._seen and self._fields.get(field) == kind:
                    self._seen.add(id(word))
                    if use is not None:
                        self._note(use, field)
                    return True
        return False

    def _note(self, use: str, field: str) -> None:
        self._fits &= self._found.setdefault(use, field) == field

    def _is_word(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=self._word):
                return True
        return False
