"""A run that fails whatever the depths of its channels says why, a fault as well as a deadlock."""

from __future__ import annotations

import pytest

from step import FP32, UINT32, Graph, Program, Tile
from step.errors import Deadlock, StepError, StreamFault
from step.functions import Add
from step_torch.depths import with_depths


def waiting() -> Program:
    """A loop whose first token waits for itself."""
    graph = Graph("waiting")
    loop = graph.feedback(Tile(FP32), [3], name="loop")
    x = graph.source("x", Tile(FP32), [3]).map(Add(), loop.stream, name="next")
    x.sink("y")
    loop.close(x)
    return Program(graph, {"x": [1, 2, 3]})


def beyond() -> Program:
    """An address behind the last row of a table, and a channel that is full before."""
    graph = Graph("beyond")
    table = graph.tensor("table", (6, 1), FP32)
    place = graph.source("place", Tile(UINT32), [8])
    rows = place.load_random(table, tile=(1, 1), name="rows")
    rows.zip(place, name="both").sink("y")
    return Program(graph, {"table": [[0.0]] * 6, "place": range(8)})


@pytest.mark.parametrize(
    "program, kind, says",
    [
        (waiting(), Deadlock, ["no depths clear it: a token that is waited for is never made", "map 'next' ("]),
        (beyond(), StreamFault, ["'rows' (", "an address is out of range: tensor 'table' has the tiles 0 to 5"]),
    ],
    ids=["waiting", "beyond"],
)
def test_it_says_what_is_wrong(program: Program, kind: type[StepError], says: list[str]) -> None:
    with pytest.raises(kind) as caught:
        with_depths(program)
    assert all(each in str(caught.value) for each in says)
