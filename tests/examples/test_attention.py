"""Decode attention: all requests, on both arrangements, mean what float64 says; the caches have the new rows."""

from __future__ import annotations

from typing import Any

import attention
import numpy as np
import pytest
from cases import cases
from grids import samples
from raising import raising
from test_examples import assert_clean, assert_close, numbers

from sim_approx import backend as approx
from step.programs.program import Program
from step.running.contracts import StreamFault
from step.running.interpreter import interpret

OUTPUTS = ("output", "keys", "values")

LENGTHS: dict[str, list[int]] = {
    "nothing yet": [0],
    "nothing yet for all": [0, 0, 0],
    "some have nothing yet": [0, 5, 0, 9, 0],
    "full tiles": [4, 8, 4],
    "one row more, or less": [5, 3, 9, 7],
    "one is long": [40, 1, 2, 0, 3, 1],
    "fewer sequences than regions": [6],
}


def outputs(tokens: dict[str, Any]) -> dict[str, list[bytes]]:
    return {name: [token.value.tobytes() for token in tokens[name] if token.has_value] for name in OUTPUTS}


def assert_runs(program: Program) -> None:
    """The fast model ends, with the interpreter's tensors; these are close to float64, and the caches equal."""
    assert_close(program)
    meaning = interpret(program.graph, program.inputs).outputs
    result = approx.run(program.graph, program.inputs, program.fabric, values="all")
    assert result.outputs is not None
    assert outputs(result.outputs) == outputs(meaning)
    for name in ("keys", "values"):
        cache = np.concatenate([token.value for token in meaning[name] if token.has_value])
        assert (cache.astype(np.float64) == program.expected[name]).all()


@pytest.mark.parametrize("arrangement", [attention.interleaved, attention.parallel, attention.whole, attention.small])
def test_every_function_of_the_file(arrangement: Any) -> None:
    program = arrangement()
    assert_clean(program)
    assert_runs(program)


def test_both_arrangements_give_the_same_bits() -> None:
    one, other = (
        outputs(interpret(each.graph, each.inputs).outputs) for each in (attention.interleaved(), attention.parallel())
    )
    assert one == other


def test_whoever_is_free_is_done_earlier() -> None:
    turns, free = (
        approx.run(each.graph, each.inputs, each.fabric).cycles
        for each in (attention.interleaved(), attention.parallel())
    )
    assert 1.15 * free < turns


@pytest.mark.parametrize("name", ["output", "keys"])
def test_a_wrong_result_is_found(name: str) -> None:
    program = attention.build(np.array([5, 3]), dynamic=True)
    program.expected[name] = program.expected[name] * 1.01
    with pytest.raises(AssertionError):
        assert_close(program)


def test_the_new_row_counts() -> None:
    """Without a cache the result is the new value."""
    program = attention.build(np.array([0, 0]), dynamic=False, heads=1, group=2)
    assert (program.expected["output"] == np.repeat(program.inputs["new_values"].astype(np.float64), 2, axis=0)).all()
    assert_runs(program)


@samples(dynamic=[False, True], lengths=LENGTHS)
def test_other_lengths(lengths: str, dynamic: bool) -> None:
    assert_runs(attention.build(np.array(LENGTHS[lengths]), dynamic=dynamic))


@samples(dynamic=[False, True], regions=[1, 2, 4])
def test_other_numbers_of_regions(regions: int, dynamic: bool) -> None:
    assert_runs(attention.build(np.array([9, 0, 17, 2, 5]), dynamic=dynamic, regions=regions))


@pytest.mark.parametrize("dynamic", [False, True])
@cases(
    {"heads": 1}, {"heads": 3, "group": 1}, {"size": 8, "rows": 8}, {"size": 16, "rows": 1}, {"group": 8, "rows": 2},
    {"group": 3, "rows": None}, ids=str,
)  # fmt: skip
def test_other_sizes(sizes: dict[str, Any], dynamic: bool) -> None:
    assert_runs(attention.build(np.array([3, 0, 7]), dynamic=dynamic, **sizes))


def test_traffic() -> None:
    lengths = np.array([0, 3, 4, 12])
    found = numbers(attention.build(lengths, dynamic=True, heads=1))
    tile, query, row = 4 * 16 * 2, 4 * 16 * 2, 16 * 2
    tiles = 1 + 1 + 2 + 4
    # keys and values: all tiles, and for the new row the last one in and out; results are FP32
    assert found["off_chip_bytes"] == 2 * (tiles * tile + 4 * (row + 2 * tile)) + 4 * (query + 2 * query)


@pytest.mark.parametrize("backend", ["interpreter", "fast model"])
def test_a_length_beyond_the_cache(backend: str) -> None:
    program = attention.build(np.array([5, 7, 6]), dynamic=True)
    program.inputs["length"] = np.array([5, 8, 6])
    location = program.graph.nodes["end"].location
    with raising(
        StreamFault,
        f"map 'end' ({location}): a request has to be one of 0 to 5, and to have less than 8 rows of the cache\n"
        "  token 2 of sequence is 2\n"
        "  token 2 of lengths_broadcast.0 is 8",
    ):
        if backend == "interpreter":
            interpret(program.graph, program.inputs)
        else:
            approx.run(program.graph, program.inputs, program.fabric)
