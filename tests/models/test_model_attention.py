"""Decode attention in all arrangements, with and without online softmax and scaling; what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from grids import grid, samples
from raising import raised
from running_models import array, assert_runs

from sim_approx import backend as approx
from step.errors import InputError
from step.programs.metrics import metrics
from step.programs.program import Program
from step.running.interpreter import bind, interpret
from step_models import attention, measured_kv_lengths

ARRANGEMENTS = ("coarse", "interleaved", "dynamic")
LENGTHS = np.array([9, 0, 17, 2, 5])


@grid(arrangement=ARRANGEMENTS, online=[True, False], scaled=[True, False], rows=[4, None])
def test_forms(arrangement: Any, online: bool, scaled: bool, rows: int | None) -> None:
    """On tiles of four rows, and on one of all rows."""
    program = attention.program(LENGTHS, rows=rows, arrangement=arrangement, online=online, scaled=scaled)
    assert_runs(program)
    outputs = interpret(program.graph, program.inputs).outputs
    for name in ("keys", "values"):
        assert (array(outputs[name]) == program.expected[name]).all()


@pytest.mark.parametrize("lengths", [[0], [0, 0, 0], [99, 0, 1]], ids=str)
def test_all_rows_of_a_cache(lengths: list[int]) -> None:
    """As many as there are, also more than a fabric has room for by default."""
    program = attention.program(np.array(lengths), rows=None, heads=1)
    assert program.fabric.dynamic_rows == max(64, *lengths, 0) + (max(lengths) >= 64)
    assert_runs(program)


def test_rows_that_are_read() -> None:
    """Where tiles have as many rows as there are, none is read that does not count: not even to append to it."""
    found = {
        rows: bind_metrics(attention.program(LENGTHS, rows=rows, heads=1, group=1, size=8)) for rows in (1, 4, None)
    }
    row, rows = 8 * 2, (LENGTHS + 1).sum()
    new, query, result = len(LENGTHS) * row, len(LENGTHS) * row, len(LENGTHS) * 2 * row
    assert found[None] == 2 * (rows * row + 2 * new) + query + result
    assert found[None] < found[1] < found[4]


def bind_metrics(program: Program) -> int:
    """Bytes off chip."""
    return int(metrics(program.graph, program.fabric).bind(bind(program.graph, program.inputs)).off_chip_bytes)


@samples(arrangement=ARRANGEMENTS, regions=[1, 4, 7])
def test_regions(arrangement: Any, regions: int) -> None:
    """Also more of them than there are requests."""
    assert_runs(attention.program(LENGTHS, arrangement=arrangement, regions=regions, heads=1))


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_blocks(block: int) -> None:
    assert_runs(attention.program(LENGTHS, arrangement="coarse", block=block))


@samples(arrangement=ARRANGEMENTS, lengths=[[0], [0, 0, 0], [4, 8, 4]])
def test_a_cache_without_rows(arrangement: Any, lengths: list[int]) -> None:
    """A length of 0 is one row of attention, the new one: the result is its value."""
    program = attention.program(np.array(lengths), arrangement=arrangement)
    assert_runs(program)
    if not any(lengths):
        values = np.repeat(program.inputs["new_values"].astype(np.float64), 4, axis=0)
        assert (program.expected["output"] == values).all()


@cases(
    {"size": 8, "rows": 8},
    {"rows": 1},
    {"group": 8, "rows": 2, "room": 32},
    {"group": 1, "rows": None, "room": 33, "places": 5},
    ids=str,
)
def test_sizes(sizes: dict[str, Any]) -> None:
    assert_runs(attention.program(np.array([3, 0, 7]), **sizes))


def test_a_cache_with_places_for_more() -> None:
    program = attention.program(LENGTHS, places=7)
    assert program.inputs["keys"].shape == (7 * 2 * 5 * 4, 16)
    assert_runs(program)


def test_whoever_is_free_is_done_first() -> None:
    """Long requests for the first of two regions only: blocks and turns leave the other one idle."""
    cycles = {}
    for arrangement, lengths in (("coarse", [60] * 4 + [0] * 4), ("interleaved", [60, 0] * 4)):
        program = attention.program(np.array(lengths), arrangement=arrangement, regions=2, heads=1)
        dynamic = attention.program(np.array(lengths), arrangement="dynamic", regions=2, heads=1)
        cycles[arrangement], least = (
            approx.run(each.graph, each.inputs, each.fabric).cycles for each in (program, dynamic)
        )
        assert cycles[arrangement] > 1.3 * least


def test_regions_get_what_is_assigned_to_them() -> None:
    """With the results of any other arrangement; an own list as turns has, or blocks, takes the cycles of blocks."""
    lengths = np.array([60, 0, 60, 0, 9, 0])
    how: dict[str, Any] = {"regions": 2, "heads": 1}
    uneven = attention.program(lengths, arrangement="assigned", assigned=[0, 1, 1, 1, 0, 1], **how)
    assert_runs(uneven)
    own = attention.program(lengths, arrangement="assigned", assigned=[0, 0, 0, 1, 1, 1], **how)
    blocks = attention.program(lengths, arrangement="coarse", **how)
    cycles = [approx.run(each.graph, each.inputs, each.fabric).cycles for each in (own, blocks, uneven)]
    assert cycles[0] == cycles[1] > cycles[2]


def test_traffic_at_full_size() -> None:
    """One KV head of Qwen3 with 64 requests, which have 2147 tiles: keys and values once, and the last tiles twice."""
    lengths = measured_kv_lengths("b64/conv_stdev0996_4007_4070")
    program = attention.program(
        lengths, arrangement="coarse", regions=4, heads=1, group=8, size=128, rows=32, values=False
    )
    parts = {f"parts_D{number}": 16 for number in range(4)}
    tiles = ((lengths + 32) // 32).reshape(4, 16).sum(1)
    pieces = {f"region{number}_address_pieces": int(each) for number, each in enumerate(tiles)}
    assert tiles.sum() == 2147 and program.expected == {}
    tile, row, group = 32 * 128 * 2, 128 * 2, 8 * 128
    found = metrics(program.graph, program.fabric).bind({**parts, **pieces}).off_chip_bytes
    assert found == 2 * (2147 * tile + 64 * (row + 2 * tile)) + 64 * group * (2 + 4)


@cases(
    ({"lengths": np.zeros(0, int)}, "KV lengths must be integers [requests] for at least one request, not int64 [0]"),
    ({"lengths": np.array([3, -1])}, "KV lengths must be at least 0, not -1"),
    ({"room": 16},
     "KV lengths must be below the 16 rows of the cache, which has to take the new row, too, "
     "but request 2 has 17"),
    ({"room": 21},
     "rows, the rows of a tile of the KV cache, must divide room, the rows of a cache, = 21, but 4 does not"),
    ({"places": 4},
     "a batch of 10 sequences, the KV heads of all requests, is larger than the cache, which has places for 8"),
    ({"rows": 3}, "a tile of the KV cache must have a power of two of rows, not 3"),
    ({"rows": 0}, "a tile of the KV cache must have a power of two of rows, not 0"),
    ({"regions": 0}, "attention needs at least one region, not 0"),
    ({"regions": 2.0}, "program needs regions to be an integer, not 2.0"),
    ({"arrangement": "fair"},
     'program needs arrangement to be "coarse", "interleaved", "assigned" or "dynamic", not \'fair\''),
    ({"arrangement": "assigned"},
     "assigned must have the region of each sequence of an \"assigned\" arrangement, not None for 'assigned'"),
    ({"assigned": [0]},
     "assigned must have the region of each sequence of an \"assigned\" arrangement, not [0] for 'dynamic'"),
    ({"arrangement": "assigned", "assigned": [0, 1]}, "assigned must have 10 regions, one a sequence, not 2"),
    ({"arrangement": "assigned", "assigned": [0, 1, 3] * 3 + [0]},
     "assigned must have regions from 0 to 2, not 3 at 2"),
    ({"arrangement": "coarse", "block": 0},
     "block must be at least one sequence of a \"coarse\" arrangement, not 0 of 'coarse'"),
    ({"block": 4}, "block must be at least one sequence of a \"coarse\" arrangement, not 4 of 'dynamic'"),
    ({"heads": 0}, "there must be at least one KV head, not 0"),
    ({"group": 0}, "a KV head must have at least one query head, not 0"),
    ({"size": 0}, "a row of the KV cache must have at least one scalar, not 0"),
)  # fmt: skip
def test_what_does_not_fit(changes: dict[str, Any], message: str) -> None:
    assert raised(InputError, lambda: attention.program(**{"lengths": LENGTHS, **changes})) == message


def test_requests_that_come_over_time() -> None:
    """In the cycles that the gaps say, also where nobody is ready for them; with the same results."""
    gaps = np.array([0, 700, 1, 0, 3000])
    program = attention.program(LENGTHS, gaps=gaps, heads=1, regions=1)
    assert_runs(program)
    run = approx.run(program.graph, program.inputs, program.fabric, events=True)
    assert run.events is not None
    arrived = run.events["gap_clock"]
    assert np.diff(arrived.cycles[arrived.control & 2 > 0]).tolist() == [700, 1, 1, 3000]
    assert run.cycles > arrived.cycles[-1] > 3701


@cases(
    (np.array([0, 1]), "int64 [2] from 0 on"),
    (np.array([0, -1, 0, 0, 0]), "int64 [5] from -1 on"),
    (np.zeros(5), "float64 [5]"),
)
def test_gaps_of_another_form(gaps: np.ndarray, found: str) -> None:
    error = raised(InputError, lambda: attention.program(LENGTHS, gaps=gaps))
    assert error == f"gaps must be integers >= 0, one for each of 5 requests, not {found}"
