"""What modules are called: names that say what they are, and by which numbers they differ from others.

A name is a function of the component alone, the same in every design. Where it can not say all that makes the
component, a digest of that follows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import groupby
from typing import Any

from step.language.dtypes import DType
from step.lowering.plans.words import Words

LONGEST = 60
"""Characters of a name."""

USUAL_LINK = 512
"""Bits of a link that need not be said."""

UNITS = {f"_{each}": each for each in ("bits", "bytes", "cycles", "tokens", "tiles")}
"""Ends of the names of parameters, and what these are counted in."""


@dataclass(frozen=True)
class Spelling:
    """The words of a name; ``whole``: of two values of one type that differ, they differ too."""

    pieces: tuple[str, ...] = ()
    whole: bool = True

    def __add__(self, other: Spelling) -> Spelling:
        return Spelling(self.pieces + other.pieces, self.whole and other.whole)

    @classmethod
    def some(cls, *pieces: str) -> Spelling:
        """Words that do not say all; those that are empty are left out."""
        return cls(tuple(filter(None, pieces)), whole=False)


def snake_case(name: str) -> str:
    """``name``, in camel case, as Verilog has it."""
    return re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", name).lower()


def named(stem: str, words: Spelling, key: str) -> str:
    """The name of what ``stem`` (in camel case) says, and ``words``; ``key`` is all that makes it."""
    start = snake_case(stem)
    whole = "_".join([start, *words.pieces])
    if words.whole and len(whole) <= LONGEST:
        return whole
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    name = start
    for piece in words.pieces:
        if len(name) + len(piece) + len(digest) + 2 <= LONGEST:
            name = f"{name}_{piece}"
    return f"{name}_{digest}"


def spelled(parameters: Mapping[str, Any]) -> Spelling:
    """The words of all ``parameters``; what is False or None is left out."""
    return sum((_parameter(name, value) for name, value in parameters.items()), Spelling())


def _parameter(name: str, value: Any) -> Spelling:
    for end in UNITS:
        name = name.removesuffix(end)
    if value is None or value is False:
        return Spelling()
    if value is True:
        return Spelling((name,))
    if isinstance(value, tuple) and value and all(type(each) is int and each >= 0 for each in value):
        return Spelling((name + "x".join(map(str, value)),))
    if isinstance(value, int) and value >= 0:
        return Spelling((f"{name}{value}",))
    if isinstance(value, DType):
        return Spelling((f"{name}_{str(value).lower()}",))
    if isinstance(value, str) and re.fullmatch("[a-z0-9]+", value):
        return Spelling((f"{name}_{value}",))
    found = words_of(value)
    return Spelling((name, *found.pieces), found.whole) if found.pieces else found


def words_of(value: Any) -> Spelling:
    """The words of a value that has its own: a component, a format, the words of a tile, a function."""
    if isinstance(value, Words):
        return Spelling((f"{value.rows}x{value.cols}", str(value.dtype).lower()), value.link_bits == USUAL_LINK)
    if isinstance(own := getattr(value, "spelling", None), Spelling):
        stem = getattr(value, "stem", None)
        return Spelling((snake_case(stem),)) + own if stem else own
    return Spelling(whole=False)


def stream_words(inputs: Sequence[Any], outputs: Sequence[Any]) -> Spelling:
    """The bits of values that come and go, and the ranks of their streams."""
    formats = [*inputs, *outputs]
    bits = [_runs(map(_bits, side)) for side in (inputs, outputs) if side]
    ranks = [str(getattr(each, "rank", 0)) for each in formats]
    rank = ranks[0] if len({*ranks}) == 1 else _runs(ranks)
    whole = all(getattr(each, "is_plain", False) for each in formats)
    links = {getattr(each, "link_bits", USUAL_LINK) for each in formats} or {USUAL_LINK}
    link = () if links == {USUAL_LINK} else (f"link{max(links)}",)
    return Spelling(("_to_".join(bits), f"rank{rank}", *link) if formats else (), whole and len(links) == 1)


def _runs(words: Iterable[str]) -> str:
    """The words, equal ones behind each other as one with their number."""
    runs = [(word, len(list(same))) for word, same in groupby(words)]
    return "_".join(word if count == 1 else f"{count}of{word}" for word, count in runs)


def _bits(format: Any) -> str:
    """The bits of a value of ``format``, each item's; 0 where there are only headers."""
    items = "x".join(map(str, getattr(format, "items", (format.word_bits,)))) or "0"
    return f"{items}c" if getattr(format, "control", False) else items


def tile_words(*tiles: Words) -> tuple[str, ...]:
    """Formats of scalars and shapes of ``tiles``, each format once."""
    dtypes = dict.fromkeys(str(each.dtype).lower() for each in tiles)
    return *dtypes, "_by_".join(f"{each.rows}x{each.cols}" for each in tiles)


def function_words(function: Any) -> tuple[str, ...]:
    """The name of ``function``, and its parameters that are numbers or words and not what they are by default."""
    found = [snake_case(type(function).__name__)]
    for each in fields(function) if is_dataclass(function) else ():
        value = getattr(function, each.name)
        if each.default is MISSING or value != each.default:
            found += _parameter(each.name, value).pieces
    return tuple(found)
