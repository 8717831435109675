"""Kinds of fields of a machine in C++, by their annotations."""

from __future__ import annotations

from dataclasses import dataclass, fields

from step.firing.machine import Machine


@dataclass(frozen=True)
class FieldKind:
    """A kind of thing that rules handle: its C++ type, and whether a rule may change a field of it."""

    name: str
    cpp: str
    changes: bool = False


INT, BOOL = FieldKind("int", "int64_t", True), FieldKind("bool", "bool", True)
MASK, TOKEN, VALUE = (
    FieldKind("mask", "Mask", True),
    FieldKind("token", "Token", True),
    FieldKind("value", "Value", True),
)
CHANNEL, CHANNELS = FieldKind("channel", "Channel*"), FieldKind("channels", "Channels")
INTS, PAIRS, TOKENS = FieldKind("ints", "Ints"), FieldKind("pairs", "Pairs"), FieldKind("tokens", "Tokens")
STREAM = FieldKind("stream", "Stream")
FUNCTION = FieldKind("function", "int64_t")
BANKS, BUFFERS, TILES = FieldKind("banks", "Banks*"), FieldKind("buffers", "Buffers*"), FieldKind("tiles", "Tiles*")
TOKEN_NOTES, INT_NOTES = FieldKind("token notes", "TokenNotes*"), FieldKind("int notes", "IntNotes*")
NONE = FieldKind("None", "")

ANNOTATIONS = {
    "int": INT,
    "int | None": INT,
    "Address": INT,
    "bool": BOOL,
    "Mask": MASK,
    "Token": TOKEN,
    "Token | None": TOKEN,
    "Any": VALUE,
    "Channel": CHANNEL,
    "tuple[Channel, ...]": CHANNELS,
    "list[int]": INTS,
    "Sequence[int]": INTS,
    "tuple[int, ...]": INTS,
    "tuple[tuple[int, int], ...]": PAIRS,
    "list[Token]": TOKENS,
    "Stream": STREAM,
    "Banks | None": BANKS,
    "Buffers": BUFFERS,
    "Sequence[Any]": TILES,
    "MutableSequence[Any]": TILES,
}

NOTES = {INTS: INT_NOTES, TOKENS: TOKEN_NOTES}
"""What a list is to which a rule appends."""

KEPT = {each.name for each in fields(Machine)}
"""Fields of every machine, which the engine itself keeps."""


def kind_of(annotation: str) -> FieldKind | None:
    """The kind of a field with this ``annotation``; None: rules can not have it."""
    if annotation.startswith("Callable["):
        return FUNCTION
    return ANNOTATIONS.get(annotation)
