"""Streams of ragged shape and nested lists are in bijection: what the checker takes, and which tokens differ."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from running import NUMBER, nested_lists, play

from step.errors import StreamFault
from step.language.checker import StreamChecker
from step.language.dims import DimKind, symbol
from step.language.operator import StreamType
from step.language.tokens import DONE, Token, empty, from_nested, show, to_nested
from step.language.types import ElementType, Selector

HIGHEST = 5

streams = st.integers(0, HIGHEST).flatmap(lambda rank: st.tuples(st.just(rank), nested_lists(rank)))
pairs = st.integers(0, HIGHEST).flatmap(lambda rank: st.tuples(st.just(rank), nested_lists(rank), nested_lists(rank)))


def checker(rank: int, element: ElementType = NUMBER) -> StreamChecker:
    """A checker of elements, all dimensions ragged but for the outermost."""
    dims = [symbol(f"D{level}", DimKind.RAGGED if level < rank else DimKind.DYNAMIC) for level in range(rank + 1)]
    return StreamChecker("x", StreamType(element, tuple(reversed(dims))))


def extents(nested: list[Any], rank: int) -> list[set[int]]:
    """The lengths of the lists of every level, innermost first."""
    found: list[set[int]] = [set() for _ in range(rank + 1)]

    def walk(part: list[Any], level: int) -> None:
        found[level].add(len(part))
        for each in part if level else []:
            walk(each, level - 1)

    walk(nested, rank)
    return found


@given(streams)
def test_the_checker_takes_every_nested_list_and_measures_it(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    looking = checker(rank)
    for token in play(show(from_nested(nested, rank))):
        looking.see(token)
    assert looking.done
    assert looking.extents == extents(nested, rank)


@given(pairs)
def test_distinct_nested_lists_are_distinct_tokens(pair: tuple[int, list[Any], list[Any]]) -> None:
    rank, one, other = pair
    assert (one == other) == (from_nested(one, rank) == from_nested(other, rank))


BITS = st.builds(lambda bit, stop: Token(bit, stop), st.integers(0, 1), st.integers(0, 3))
EMPTIES = st.integers(1, 3).flatmap(lambda rank: st.builds(empty, st.just(rank), st.integers(rank, 3)))


@given(st.integers(0, 3), st.lists(BITS | EMPTIES, max_size=5))
def test_the_checker_takes_nothing_else(rank: int, tokens: list[Token]) -> None:
    looking = checker(rank, Selector(1))
    try:
        for token in [*tokens, DONE]:
            looking.see(token)
        taken = True
    except StreamFault:
        taken = False
    assert taken == (from_nested(to_nested(tokens, rank), rank) == [*tokens, DONE])
