"""How a field of a machine is kept in C++, by its annotation."""

from __future__ import annotations

from dataclasses import dataclass, fields

from step.firing.machine import Machine


@dataclass(frozen=True)
class Kind:
    """A kind of thing that rules handle: its C++ type, and whether a rule may change a field of it."""

    name: str
    cpp: str
    changes: bool = False


INT, BOOL = Kind("int", "int64_t", True), Kind("bool", "bool", True)
MASK, TOKEN, VALUE = Kind("mask", "Mask", True), Kind("token", "Token", True), Kind("value", "Value", True)
CHANNEL, CHANNELS = Kind("channel", "Channel*"), Kind("channels", "Channels")
INTS, PAIRS, TOKENS = Kind("ints", "Ints"), Kind("pairs", "Pairs"), Kind("tokens", "Tokens")
STREAM = Kind("stream", "Stream")
FUNCTION = Kind("function", "int64_t")
BANKS, BUFFERS, TILES = Kind("banks", "Banks*"), Kind("buffers", "Buffers*"), Kind("tiles", "Tiles*")
TOKEN_NOTES, INT_NOTES = Kind("token notes", "TokenNotes*"), Kind("int notes", "IntNotes*")
NONE = Kind("None", "")

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


def kind_of(annotation: str) -> Kind | None:
    """The kind of a field with this ``annotation``; None: rules can not have it."""
    if annotation.startswith("Callable["):
        return FUNCTION
    return ANNOTATIONS.get(annotation)
