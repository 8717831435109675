"""Tokens: the examples of the stream rules, empties of every rank, and round trips over ragged nested lists."""

from __future__ import annotations

from typing import Any

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from raising import raised
from running import nested_lists

from step.errors import InputError
from step.language.tokens import DONE, NOTHING, Token, empty, from_nested, parse, show, to_nested

EXAMPLES = [
    # rank, nested lists, text
    (0, [], "D"),
    (0, [1, 2, 3], "1 2 3 D"),
    (1, [[]], "E1 D"),
    (1, [[1], [], [2]], "1 S1 E1 2 S1 D"),
    (2, [[[1, 2], [3]], [[4], [5, 6, 7]]], "1 2 S1 3 S2 4 S1 5 6 7 S2 D"),
    (2, [[[1], []]], "1 S1 E1 S2 D"),
    (2, [[[1]], []], "1 S2 E2 D"),
    (2, [[]], "E2 D"),
    (2, [[[], []], [[], [], [3]]], "E1 E1 S2 E1 E1 3 S2 D"),
    (3, [[[[1], []], []], [[[], []]]], "1 S1 E1 S2 E2 S3 E1 E1 S3 D"),
    (3, [[[[]]], [[]], []], "E1 S3 E2 S3 E3 D"),
]


@pytest.mark.parametrize(("rank", "nested", "text"), EXAMPLES)
def test_nested_lists_are_the_tokens_of_the_rules(rank: int, nested: list[Any], text: str) -> None:
    assert show(from_nested(nested, rank)) == text
    assert to_nested(parse(text), rank) == nested


def test_a_stop_rides_with_what_it_follows() -> None:
    assert parse("1 2 S1 E1 3 S2 E1 S2 D") == [Token(1), Token(2, 1), empty(1), Token(3, 2), empty(1, 2), DONE]


def test_the_stop_of_an_empty_may_be_written_out() -> None:
    assert parse("E1 S1 D") == parse("E1 D") == [empty(1), DONE]


@cases(
    (Token(1), True, False),
    (Token(None), True, False),  # only the sentinel is no value
    (Token(False, 2), True, False),
    (empty(1), False, True),
    (empty(1, 3), False, True),
    (DONE, False, False),
)
def test_kinds_of_tokens(token: Token, has_value: bool, is_empty: bool) -> None:
    assert (token.has_value, token.is_empty) == (has_value, is_empty)


def test_an_empty_ends_itself() -> None:
    assert empty(2) == Token(NOTHING, 2, 2) and empty(2, 3) == Token(NOTHING, 3, 2)


@cases(
    ("", "a stream must end with Done"),
    ("1 S1", "a stream must end with Done"),
    ("1 D 2", "word 3, '2', follows Done; Done must be the last token"),
    ("D D", "word 2, 'D', follows Done; Done must be the last token"),
    ("1 S0 D", "word 2, 'S0', has the level 0; the lowest one is 1"),
    ("E0 D", "word 1, 'E0', has the level 0; the lowest one is 1"),
    ("S1 D", "word 1, 'S1', must follow a value, or an empty of rank 1 or less; an empty tensor of rank 1 is E1"),
    ("1 S1 S2 D", "word 3, 'S2', must follow a value, or an empty of rank 2 or less; an empty tensor of rank 2 is E2"),
    ("E2 S1 D", "word 2, 'S1', must follow a value, or an empty of rank 1 or less; an empty tensor of rank 1 is E1"),
    ("1 x D", "a token must be an integer, S1, E1, S2, E2, ... or D, not 'x'"),
    ("1.5 D", "a token must be an integer, S1, E1, S2, E2, ... or D, not '1.5'"),
    ("S D", "a token must be an integer, S1, E1, S2, E2, ... or D, not 'S'"),
    ("S-1 D", "a token must be an integer, S1, E1, S2, E2, ... or D, not 'S-1'"),
)  # fmt: skip
def test_what_is_no_stream(text: str, message: str) -> None:
    assert raised(InputError, lambda: parse(text)) == message


streams = st.integers(0, 5).flatmap(lambda rank: st.tuples(st.just(rank), nested_lists(rank)))


def independent_tokens(nested: list[Any], rank: int) -> str:
    """Every list's end written out, then the highest of each run kept, counted by hand."""
    words: list[tuple[str, int]] = []

    def walk(part: Any, level: int) -> None:
        if level == 0:
            words.append(("", part))
            return
        for each in part:
            walk(each, level - 1)
        words.append(("S" if part else "E", level))

    for tensor in nested:
        walk(tensor, rank)
    kept = [
        f"{kind}{number}"
        for (kind, number), (following, _) in zip(words, [*words, ("", 0)][1:], strict=True)
        if kind != "S" or following != "S"
    ]
    return " ".join([*kept, "D"])


@given(streams)
def test_tokens_equal_an_independent_count(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    assert show(from_nested(nested, rank)) == independent_tokens(nested, rank)


@given(streams)
def test_nested_lists_and_text_survive_a_round_trip(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    tokens = from_nested(nested, rank)
    assert to_nested(tokens, rank) == nested
    assert parse(show(tokens)) == tokens


@given(streams)
def test_stops_are_within_their_bounds(stream: tuple[int, list[Any]]) -> None:
    rank, nested = stream
    *tokens, last = from_nested(nested, rank)
    assert last == DONE
    assert all(not token.done and token.rank <= token.stop <= rank for token in tokens)
    assert all(token.has_value != token.is_empty for token in tokens)
