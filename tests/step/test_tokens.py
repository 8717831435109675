"""Tokens: the examples of the stream rules, empties, and round trips over ragged nested lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from step.errors import InputError
from step.language.tokens import (
    DONE,
    NOTHING,
    Done,
    Stop,
    Token,
    abstract,
    bare,
    from_nested,
    parse,
    show,
    to_nested,
    wire,
)

EXAMPLES = [
    # rank, nested lists, abstract form
    (0, [], "D"),
    (0, [1, 2, 3], "1 2 3 D"),
    (1, [], "D"),
    (1, [[1]], "1 S1 D"),
    (1, [[]], "S1 D"),
    (1, [[], []], "S1 S1 D"),
    (1, [[1], [], [2]], "1 S1 S1 2 S1 D"),
    (1, [[], [1, 2]], "S1 1 2 S1 D"),
    (1, [[1, 2], []], "1 2 S1 S1 D"),
    (2, [[[1, 2], [3]], [[4], [5, 6, 7]]], "1 2 S1 3 S2 4 S1 5 6 7 S2 D"),
    (2, [[[1], [], [2]]], "1 S1 S1 2 S2 D"),
    (2, [[[1], []]], "1 S1 S2 D"),
    (2, [[[1]], []], "1 S2 S2 D"),
    (2, [[], [[1]]], "S2 1 S2 D"),
    (2, [[[], [1]]], "S1 1 S2 D"),
    (2, [[[], []]], "S1 S2 D"),
    (2, [[[], []], [[], [], [3]]], "S1 S2 S1 S1 3 S2 D"),
    (3, [[[[1]]], [], [[], [[2]]]], "1 S3 S3 S2 2 S3 D"),
    (3, [[[[1], []], []], [[[], []]]], "1 S1 S2 S3 S1 S3 D"),
]


@pytest.mark.parametrize(("rank", "nested", "text"), EXAMPLES)
def test_nested_lists_are_the_tokens_of_the_rules(rank: int, nested: list[Any], text: str) -> None:
    assert show(from_nested(nested, rank)) == text
    assert to_nested(parse(text), rank) == nested


def test_the_wire_form_lets_a_stop_ride_with_its_value() -> None:
    assert parse("1 2 S1 S1 3 S2 D") == [Token(1), Token(2, 1), bare(1), Token(3, 2), DONE]


def test_the_abstract_form_parts_them_again() -> None:
    assert list(abstract(parse("1 2 S1 S1 D"))) == [1, 2, Stop(1), Stop(1), Done()]


def test_a_value_may_be_none_or_false() -> None:
    """Only the sentinel is no value."""
    assert wire([None, Stop(1), False, 0, Done()]) == [Token(None, 1), Token(False), Token(0), DONE]
    assert Token(None).has_value and Token(0, 1).has_value and not Token(NOTHING, 1).has_value


@pytest.mark.parametrize(
    ("token", "value", "is_bare"),
    [(Token(1), True, False), (Token(1, 2), True, False), (bare(1), False, True), (DONE, False, False)],
)
def test_kinds_of_tokens(token: Token, value: bool, is_bare: bool) -> None:
    assert (token.has_value, token.is_bare) == (value, is_bare)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a stream must end with Done"),
        ("1 S1", "a stream must end with Done"),
        ("1 D 2", "token 2 follows Done; Done must be the last token"),
        ("D D", "token 1 follows Done; Done must be the last token"),
        ("1 S0 D", "token 1 is a stop of level 0; the lowest level is 1"),
        ("1 x D", "a token must be an integer, S1, S2, ... or D, not 'x'"),
        ("1.5 D", "a token must be an integer, S1, S2, ... or D, not '1.5'"),
        ("S D", "a token must be an integer, S1, S2, ... or D, not 'S'"),
        ("S-1 D", "a token must be an integer, S1, S2, ... or D, not 'S-1'"),
    ],
)
def test_what_is_no_stream(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse(text)
    assert str(error.value) == message


def nested_lists(rank: int) -> st.SearchStrategy[list[Any]]:
    """Ragged nested lists of rank + 1 levels, empties included."""
    strategy: st.SearchStrategy[Any] = st.integers(0, 9)
    for _ in range(rank + 1):
        strategy = st.lists(strategy, max_size=3)
    return strategy


streams = st.integers(0, 4).flatmap(lambda rank: st.tuples(st.just(rank), nested_lists(rank)))


def as_carried(tensor: Any) -> Any:
    """A tensor as a stream can carry it: ``[[]]`` and ``[]`` are the same."""
    if not isinstance(tensor, list):
        return tensor
    items = [as_carried(each) for each in tensor]
    return [] if items == [[]] else items


def independent_tokens(nested: list[Any], rank: int) -> str:
    """Every stop written out, then the highest of each run kept, counted by hand.

    A stop is dropped where a higher one directly follows: several dimensions that end together send only the highest.
    An empty tensor is marked first, so that the stop which it is made of is not dropped for being empty.
    """
    words: list[tuple[str, int]] = []

    def walk(part: Any, level: int) -> None:
        if level == 0:
            words.append(("value", part))
            return
        for each in part:
            walk(each, level - 1)
        words.append(("end" if part else "empty", level))

    for tensor in nested:
        walk(tensor, rank)
    kept: list[str] = []
    for position, (kind, number) in enumerate(words):
        if kind == "value":
            kept.append(str(number))
            continue
        follows_end = position + 1 < len(words) and words[position + 1][0] == "end"
        if not follows_end:
            kept.append(f"S{number}")
    return " ".join([*kept, "D"])


@given(streams)
def test_tokens_equal_an_independent_count(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    assert show(from_nested(nested, rank)) == independent_tokens(nested, rank)


@given(streams)
def test_nested_lists_survive_a_round_trip(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    assert to_nested(from_nested(nested, rank), rank) == [as_carried(each) for each in nested]


@given(streams)
def test_text_and_abstract_form_survive_a_round_trip(stream: tuple[int, list[Any]]) -> None:
    tokens = from_nested(stream[1], stream[0])
    assert parse(show(tokens)) == tokens
    assert wire(abstract(tokens)) == tokens


@given(streams)
def test_the_wire_form_is_canonical(stream: tuple[int, list[Any]]) -> None:
    """A bare stop only follows a stop or opens the stream, and only Done is done."""
    rank, nested = stream
    *tokens, last = from_nested(nested, rank)
    assert last == DONE
    for before, token in zip([bare(rank or 1), *tokens], tokens, strict=False):
        assert not token.done and 0 <= token.stop <= rank
        assert token.has_value or before.stop > 0


@pytest.mark.parametrize(("one", "other", "rank"), [([[[]]], [[]], 2), ([[[[]]]], [[]], 3), ([[[[]]]], [[[]]], 3)])
def test_an_empty_tensor_does_not_know_its_inner_extents(one: list[Any], other: list[Any], rank: int) -> None:
    """The known limit: ``[[]]`` and ``[]`` are the same tokens."""
    assert from_nested(one, rank) == from_nested(other, rank)
    assert to_nested(from_nested(one, rank), rank) == [[]]


def test_but_an_empty_stream_and_one_empty_tensor_differ() -> None:
    assert from_nested([], 1) != from_nested([[]], 1)
