"""FlatMap with as many pieces as its operands say."""

from __future__ import annotations

from typing import Any

from cases import cases
from running import Bench, refusal
from scenarios.scenario import ADDRESS

from step.functions.counting import CountFrom
from step.language.types import Selector


@cases(([3], "[3, numbers_pieces]"), (["N", "R"], "[N, R, numbers_pieces]"), ([2, 0], "[2, 0, numbers_pieces]"))
def test_the_number_of_pieces_is_a_ragged_symbol(dims: list[Any], shape: str, bench: Bench) -> None:
    first, count = (bench.source(name, "D", dims, ADDRESS) for name in ("first", "count"))
    assert str(first.flat_map(CountFrom(), count, name="numbers").type) == f"{shape} of Tile(UINT32, 1, 1)"


@cases(("5 7 D", "3 1 D", "5 6 7 S1 7 S1 D"), ("5 7 9 D", "0 2 0 D", "E1 7 8 S1 E1 D"), ("D", "D", "D"))
def test_counting(first: str, counts: str, made: str, bench: Bench) -> None:
    x, n = (bench.source(name, text, ["N"], ADDRESS) for name, text in (("x", first), ("n", counts)))
    assert bench.text(x.flat_map(CountFrom(), n)) == made


@cases(
    (lambda b: b.source("x", "D", [3], ADDRESS).flat_map(CountFrom()),
     "count_from needs a first number and a count, two of Tile(UINT32, 1, 1), not Tile(UINT32, 1, 1)"),
    (lambda b: b.source("x", "D", [3], Selector(2)).flat_map(CountFrom(), b.source("n", "D", [3], ADDRESS)),
     "count_from needs a first number and a count, two of Tile(UINT32, 1, 1), "
     "not Selector(2), Tile(UINT32, 1, 1)"),
    (lambda b: b.source("x", "D", [3], ADDRESS).flat_map(CountFrom(), b.source("n", "D", [4], ADDRESS)),
     "inputs must have the same shape, but input 0 is [3] and input 1 is [4]"),
)  # fmt: skip
def test_counting_is_refused(build: Any, message: str) -> None:
    assert refusal("flat_map", build) == message
