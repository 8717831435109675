"""Decode attention: all requests, on both arrangements, mean what float64 says; the caches have the new rows."""

from __future__ import annotations

from typing import Any

import attention
import numpy as np
import pytest
from raising import raising
from test_examples import assert_runs, numbers

from sim_approx import backend as approx
from step.running.contracts import StreamFault
from step.running.interpreter import interpret


@pytest.mark.parametrize("arrangement", [attention.interleaved, attention.parallel, attention.whole, attention.small])
def test_every_function_of_the_file(arrangement: Any) -> None:
    program = arrangement()
    outputs = assert_runs(program)
    for name in ("keys", "values"):
        assert (np.concatenate(outputs[name]).astype(np.float64) == program.expected[name]).all()


def test_both_arrangements_give_the_same_bits() -> None:
    one, other = (
        interpret(each.graph, each.inputs).outputs for each in (attention.interleaved(), attention.parallel())
    )
    for name in ("output", "keys", "values"):
        bits = [[token.value.tobytes() for token in each[name] if token.has_value] for each in (one, other)]
        assert bits[0] == bits[1]


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
