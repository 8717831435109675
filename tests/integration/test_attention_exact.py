"""Decode attention in RTL: exact for other lengths on the same hardware, and a fault for one beyond the cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_exact import check

from cosim import backend as rtl
from step.programs.program import Program, load_program
from step.running.contracts import StreamFault

EXAMPLE = Path(__file__).parents[2] / "examples" / "attention.py"


@pytest.mark.parametrize("arrangement", ["parallel", pytest.param("interleaved", marks=pytest.mark.slow)])
def test_attention_is_exact(arrangement: str) -> None:
    check(load_program(f"{EXAMPLE}:{arrangement}"))


def attention(lengths: list[int]) -> Program:
    """The example with other lengths; what is expected of its own ones does not fit them."""
    program = load_program(f"{EXAMPLE}:parallel")
    return replace(program, inputs={**program.inputs, "length": lengths}, expected={})


@pytest.mark.parametrize(
    "lengths", [[0] * 16, [35] + [0] * 15, [0] * 15 + [35], [3, 4, 5, 0] * 4], ids=["none", "first", "last", "short"]
)
def test_attention_is_exact_for_other_lengths(lengths: list[int]) -> None:
    check(attention(lengths))


def test_a_length_beyond_the_cache() -> None:
    program = attention([1, 2, 36] + [0] * 13)
    with pytest.raises(StreamFault) as error:
        rtl.run(program.graph, program.inputs, program.fabric, optimize=False)  # as `check` has built it
    assert str(error.value) == (
        f"map 'end' ({program.graph.nodes['end'].location}): "
        "a request has to be one of 0 to 31, and to have less than 36 rows of the cache\n"
        "  token 4 of sequence is 4\n"
        "  token 4 of lengths_broadcast.0 is 36"
    )
