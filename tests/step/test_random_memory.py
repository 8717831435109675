"""Random loads and stores: types, refusals, order by acknowledgements, what is left of a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import cases
from raising import raised
from running import Bench, here, refusal

from step.errors import GraphError, StreamFault
from step.functions.elementwise import Add
from step.language.dims import format_shape
from step.language.dtypes import BF16, BOOL, INT32, UINT32
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.types import Selector, Tile
from step.language.validate import check
from step.lowering.fabric import FabricConfig
from step.lowering.memory import memory_map
from step.lowering.netlist import lower
from step.running.interpreter import interpret

ADDRESS = Tile(UINT32)


def cache(bench: Bench, name: str = "cache") -> Tensor:
    """Four tiles of [1, 2]: 0 1 / 2 3 / 4 5 / 6 7."""
    bench.inputs[name] = np.arange(8).reshape(2, 4)
    return bench.graph.tensor(name, (2, 4), INT32)


def addresses(bench: Bench, text: str, dims: Any, name: str = "at") -> Stream:
    return bench.source(name, text, dims, ADDRESS)


def data(bench: Bench, text: str, dims: Any, name: str = "data") -> Stream:
    return bench.source(name, text, dims, Tile(INT32, 1, 2))


# -- loads ------------------------------------------------------------------------------------------------------------


def test_type_of_a_random_load(bench: Bench) -> None:
    y = addresses(bench, "D", ["N", "R"]).load_random(cache(bench), tile=(1, 2))
    assert (y.element, format_shape(y.shape)) == (Tile(INT32, 1, 2), "[N, R]")


@cases(
    (["N"], "D", "D"),
    (["N"], "3 0 3 D", "[[6,7]] [[0,1]] [[6,7]] D"),
    (["N", "R"], "E1 1 2 S1 E1 D", "E1 [[2,3]] [[4,5]] S1 E1 D"),
    (["N", "R", "Q"], "E2 1 S1 E1 S2 D", "E2 [[2,3]] S1 E1 S2 D"),
)
def test_a_random_load_keeps_the_shape(dims: list[str], text: str, read: str, bench: Bench) -> None:
    assert bench.text(addresses(bench, text, dims).load_random(cache(bench), tile=(1, 2))) == read


def test_addresses_count_the_tiles_row_by_row_over_all_dimensions(bench: Bench) -> None:
    bench.inputs["a"] = np.arange(16).reshape(2, 2, 4)
    y = addresses(bench, "0 1 2 3 D", [4]).load_random(bench.graph.tensor("a", (2, 2, 4), INT32), tile=(2, 2))
    first = [int(token.value[0, 0]) for token in bench.tokens(y)[0] if token.has_value]
    assert first == [0, 2, 8, 10]


@cases(
    (lambda b: addresses(b, "D", ["N"]).load_random(cache(b), tile=(2, 3)),
     "tiles of [2, 3] do not divide tensor 'cache' of shape [2, 4]"),
    (lambda b: b.source("x", "D", ["N"]).load_random(cache(b), tile=(1, 2)),
     "an address is a Tile(UINT32, 1, 1), not Tile(INT32, 1, 1)"),
    (lambda b: b.choose("x", "D", 2, ["N"]).load_random(cache(b), tile=(1, 2)),
     "an address is a Tile(UINT32, 1, 1), not Selector(2)"),
)  # fmt: skip
def test_random_loads_that_are_refused(build: Callable[[Bench], Any], message: str) -> None:
    assert refusal("random_off_chip_load", build) == message


def test_an_address_out_of_range_is_a_fault(bench: Bench) -> None:
    x = addresses(bench, "1 S1 E1 2 4 S1 D", ["N", "R"])
    x.load_random(cache(bench), tile=(1, 2), name="read").sink("y")
    assert raised(StreamFault, interpret, bench.graph, bench.inputs) == (
        f"random_off_chip_load 'read' ({here(2)}): an address is out of range: tensor 'cache' has the tiles 0 to 3\n"
        "  token 3 of at is 4 with S1"
    )


# -- stores -----------------------------------------------------------------------------------------------------------


def test_type_of_a_random_store(bench: Bench) -> None:
    dims = bench.dims(["N", "R"])
    y = data(bench, "D", dims).store_random(cache(bench), addresses(bench, "D", dims))
    assert (y.element, format_shape(y.shape)) == (Tile(BOOL), "[N, R]")


def test_every_write_is_acknowledged(bench: Bench) -> None:
    dims = bench.dims(["N", "R"])
    where = addresses(bench, "E1 3 0 S1 E1 D", dims)
    assert bench.text(data(bench, "E1 8 9 S1 E1 D", dims).store_random(cache(bench), where)) == (
        "E1 [[1]] [[1]] S1 E1 D"
    )


def test_the_tensor_is_an_output(bench: Bench) -> None:
    """What nobody wrote is as it was; the last write wins; the input data stays as it is."""
    dims = bench.dims(["N"])
    data(bench, "8 9 10 D", dims).store_random(cache(bench), addresses(bench, "2 0 2 D", dims)).sink("done")
    before = bench.inputs["cache"].copy()
    outputs = interpret(bench.graph, bench.inputs).outputs
    assert list(outputs) == ["done", "cache"]
    assert [(token.value.tolist(), token.stop) for token in outputs["cache"]] == [
        ([[9, 9]], 0), ([[2, 3]], 1), ([[10, 10]], 0), ([[6, 7]], 1),
    ]  # fmt: skip
    assert np.array_equal(bench.inputs["cache"], before)


@cases(
    (lambda b: b.source("x", "D", [2], Tile(INT32, 2, 3)).store_random(cache(b), addresses(b, "D", [2])),
     "tiles of [2, 3] do not divide tensor 'cache' of shape [2, 4]"),
    (lambda b: data(b, "D", [2]).store_random(cache(b), b.source("x", "D", [2])),
     "an address is a Tile(UINT32, 1, 1), not Tile(INT32, 1, 1)"),
    (lambda b: b.source("x", "D", [2], Tile(BF16, 1, 2)).store_random(cache(b), addresses(b, "D", [2])),
     "tensor 'cache' is stored in Tile(INT32, 1, 2), not in Tile(BF16, 1, 2)"),
    (lambda b: b.source("x", "D", [2], Selector(2)).store_random(cache(b), addresses(b, "D", [2])),
     "tensor 'cache' is stored in Tile(INT32, 2, 4), not in Selector(2)"),
    (lambda b: data(b, "D", [2]).store_random(cache(b), addresses(b, "D", [3])),
     "inputs must have the same shape, but input 0 is [3] and input 1 is [2]"),
)  # fmt: skip
def test_random_stores_that_are_refused(build: Callable[[Bench], Any], message: str) -> None:
    assert refusal("random_off_chip_store", build) == message


def test_a_store_out_of_range_is_a_fault(bench: Bench) -> None:
    dims = bench.dims(["N"])
    where = addresses(bench, "3 4294967295 D", dims)
    data(bench, "8 9 D", dims).store_random(cache(bench), where, name="write").sink("y")
    assert raised(StreamFault, interpret, bench.graph, bench.inputs) == (
        f"random_off_chip_store 'write' ({here(2)}): an address is out of range: tensor 'cache' has the tiles 0 to 3\n"
        "  token 1 of at is 4294967295"
    )


# -- both on one tensor -----------------------------------------------------------------------------------------------


def test_what_waits_for_acknowledgements_sees_the_tiles(bench: Bench) -> None:
    kept, dims = cache(bench), bench.dims(["N"])
    where = addresses(bench, "3 0 D", dims)
    done = data(bench, "8 9 D", dims).store_random(kept, where).reshape(1)[0]
    where.reshape(1)[0].expand(done, rank=1).flatten(0, 1).load_random(kept, tile=(1, 2)).sink("read")
    bench.graph.load(kept, tile=(1, 2), out=(1,), reference=done).sink("first")
    outputs = interpret(bench.graph, bench.inputs).outputs
    assert [token.value.tolist() for token in outputs["read"]] == [[[8, 8]], [[9, 9]]]
    assert check(bench.graph) == []


def stored_and_read(graph: Graph, tile: tuple[int, int] = (1, 2)) -> None:
    kept = graph.tensor("cache", (2, 4), INT32)
    where = graph.source("at", ADDRESS, [2])
    graph.source("data", Tile(INT32, 1, 2), [2]).store_random(kept, where, name="write").sink("done")
    where.load_random(kept, tile=tile, name="read").sink("y")


def places(text: str) -> str:
    return re.sub(r"\((?:[^ ()]*/)?(\w+\.py):\d+\)", r"(\1)", text)


def test_a_load_that_does_not_wait_for_a_store_of_its_tensor_is_a_warning(graph: Graph) -> None:
    stored_and_read(graph)
    assert [places(each) for each in check(graph)] == [
        "random_off_chip_load 'read' (test_random_memory.py) reads tensor 'cache', which random_off_chip_store 'write' "
        "(test_random_memory.py) writes, and does not wait for its acknowledgements: what it reads depends on timing"
    ]
    (warning,) = check(graph)
    lines = [graph.nodes[name].location for name in ("read", "write")]
    assert all(f"({line})" in warning for line in lines) and lines[0] != lines[1]


def test_an_order_through_a_feedback_edge_counts(graph: Graph) -> None:
    kept = graph.tensor("cache", (2, 4), INT32)
    again = graph.feedback(Tile(BOOL), [2], name="again")
    read = graph.load(kept, tile=(1, 2), out=(1,), reference=again.stream).flatten(0, 1)
    again.close(read.store_random(kept, graph.source("at", ADDRESS, [2]), name="write"))
    assert check(graph) == []


def test_a_tile_that_is_changed_is_read_before_it_is_stored(graph: Graph) -> None:
    kept = graph.tensor("cache", (2, 4), INT32)
    where = graph.source("at", ADDRESS, [2])
    tile = where.load_random(kept, tile=(1, 2), name="read")
    tile.map(Add(), tile).store_random(kept, where, name="write").sink("done")
    assert check(graph) == []


def test_a_load_that_nobody_reads_has_no_order() -> None:
    graph = Graph("race")
    kept = graph.tensor("cache", (2, 4), INT32)
    where = graph.source("at", ADDRESS, [2])
    where.load_random(kept, tile=(1, 2), name="read")
    graph.source("data", Tile(INT32, 1, 2), [2]).store_random(kept, where, name="write").sink("done")
    unread, race = check(graph)
    assert "nobody reads read" in unread and "which random_off_chip_store 'write'" in race


def test_acknowledgements_that_nobody_reads_are_a_warning(bench: Bench) -> None:
    dims = bench.dims(["N"])
    data(bench, "8 9 D", dims).store_random(cache(bench), addresses(bench, "3 0 D", dims), name="write")
    line = here(1)
    warning = f"random_off_chip_store 'write' ({line}): nobody reads write; its tokens are dropped"
    assert check(bench.graph) == [warning]
    assert len(interpret(bench.graph, bench.inputs).outputs["cache"]) == 4


def test_a_stored_tensor_is_cut_in_one_way(graph: Graph) -> None:
    stored_and_read(graph, tile=(2, 2))
    error = raised(GraphError, lambda: check(graph))
    assert places(error) == (
        "tensor 'cache' is stored, so all must cut it into the same tiles: random_off_chip_store 'write' "
        "(test_random_memory.py) has Tile(INT32, 1, 2), random_off_chip_load 'read' (test_random_memory.py) has "
        "Tile(INT32, 2, 2)"
    )


def test_a_stored_tensor_has_a_name_of_its_own(graph: Graph) -> None:
    kept = graph.tensor("cache", (2, 4), INT32)
    stored = graph.source("data", Tile(INT32, 1, 2), [2]).store_random(kept, graph.source("at", ADDRESS, [2]))
    stored.sink("cache")
    error = raised(GraphError, lambda: check(graph))
    assert places(error) == (
        "tensor 'cache' is stored, so it is an output, but sink 'cache' (test_random_memory.py) has its name; "
        "rename one"
    )


def test_a_stored_tensor_has_one_region() -> None:
    graph = Graph("regions")
    stored_and_read(graph)
    graph.load(graph.tensor("other", (2, 4), INT32), tile=(1, 2)).store("z")
    layout = memory_map(lower(graph, FabricConfig()))
    # four tiles of a beat each; regions begin at multiples of 64 beats
    assert (layout.loads["read"].base, layout.stores["write"].base) == (0, 0)
    assert (layout.loads["linear_off_chip_load_0"].base, layout.stores["z"].base, layout.beats) == (64, 128, 192)
