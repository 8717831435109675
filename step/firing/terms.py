"""Terms of firing rules: what they are made of, and of which kinds."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from step.errors import FabricError
from step.language.tokens import Token

Kind = str

STATE = INT, BOOL, MASK, TOKEN, VALUE = "int", "bool", "mask", "token", "value"
"""Kinds of state words."""

CHANNEL, CHANNELS, FUNCTION, NONE, OUTCOME = "channel", "channels", "function", "None", "outcome"
INTS, PAIRS, TOKENS, STREAM, TILES = "ints", "pairs", "tokens", "stream", "tiles"
BANKS, BUFFERS, TOKEN_NOTES, INT_NOTES = "banks", "buffers", "token notes", "int notes"

ANNOTATIONS: dict[Kind, tuple[str, ...]] = {
    INT: ("int", "int | None", "Address", "Fault"),
    BOOL: ("bool",),
    MASK: ("Mask",),
    TOKEN: ("Token", "Token | None"),
    VALUE: ("Any",),
    CHANNEL: ("Channel",),
    CHANNELS: ("tuple[Channel, ...]", "Sequence[Channel]", "list[Channel]"),
    INTS: ("list[int]", "Sequence[int]", "tuple[int, ...]"),
    PAIRS: ("tuple[tuple[int, int], ...]",),
    TOKENS: ("list[Token]", "Sequence[Token]"),
    STREAM: ("Stream",),
    BANKS: ("Banks", "Banks | None"),
    BUFFERS: ("Buffers",),
    TILES: ("Sequence[Any]", "MutableSequence[Any]"),
    NONE: ("None", "NoReturn"),
}
"""By kind, how fields of machines and what words take and give are annotated."""

KINDS = {annotation: kind for kind, annotations in ANNOTATIONS.items() for annotation in annotations}

NOTES = {INTS: INT_NOTES, TOKENS: TOKEN_NOTES}
"""What a list is to which a rule appends."""

ENTRIES = {CHANNELS: CHANNEL, INTS: INT, TOKENS: TOKEN, STREAM: TOKEN, TILES: VALUE}
ELEMENTS = {**ENTRIES, TOKEN_NOTES: TOKEN, INT_NOTES: INT}
COUNTED = (CHANNELS, INTS, TOKENS, TILES)
PARTS = {"stop": INT, "rank": INT, "done": BOOL, "has_value": BOOL, "value": VALUE}
COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
CALCULATED = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}

CONVERTED = {
    NONE: (TOKEN, INT, VALUE),
    VALUE: (MASK, INT),
    INT: (VALUE, BOOL),
    BOOL: (VALUE, INT),
    MASK: (BOOL,),
    **dict.fromkeys(COUNTED, (BOOL,)),
}
"""By kind, what it may stand for."""


class RuleError(FabricError):
    """A rule that can not be read: file, line, what it says and what it may say."""


class RuleTerm(NamedTuple):
    """An operation of a rule (``op``) on its ``parts``, which gives something of a ``kind``, and where it stands."""

    op: str
    kind: Kind
    parts: tuple[Any, ...]
    node: ast.AST

    def __str__(self) -> str:
        return ast.unparse(self.node)


def within(parts: Iterable[Any]) -> Iterator[RuleTerm]:
    """All terms among ``parts``, and in these, each before its own."""
    for each in parts:
        if isinstance(each, RuleTerm):
            yield each
            yield from within(each.parts)
        elif isinstance(each, tuple):
            yield from within(each)


Signature = tuple[tuple[Kind, ...], int, Kind]
"""The kinds that a word takes, how many of them it needs, and what it gives."""

NO_WORD: Signature = (), 1, NONE
SPECIAL: dict[Any, Signature] = {Token: ((VALUE, INT, INT, INT), 1, TOKEN), min: ((INT, INT), 2, INT)}


def signature(word: Any) -> Signature:
    """The signature of ``word``, by its annotations; `NO_WORD` if rules can not call it."""
    if not inspect.isfunction(word):
        return SPECIAL[word] if word is Token or word is min else NO_WORD
    kinds = [KINDS.get(str(each)) for each in word.__annotations__.values()]
    if None in kinds or "return" not in word.__annotations__:
        return NO_WORD
    *operands, result = map(str, kinds)
    if inspect.getfullargspec(word).varargs:
        return ((TOKENS,), 1, result) if operands == [TOKEN] else NO_WORD
    return tuple(operands), len(operands) - len(word.__defaults__ or ()), result
