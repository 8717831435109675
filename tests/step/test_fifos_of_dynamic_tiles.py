"""Sizes of FIFOs of tiles of dynamic size: room for the rows that there are, counted as the hardware has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from raising import raising

import step
from hw.fabric import elaborate
from step import FP32, FabricConfig, Graph, Program, Tile
from step.errors import FabricError, StreamFault
from step.functions import Add, Mul, RetileRow, RetileStreamify
from step.lowering.netlist import lower
from step.programs.files.depths import DepthBinding
from step.programs.program import load_program


def sized(lengths: Sequence[int] = (3, 1, 0, 5, 2), **fabric: object) -> Program:
    """Rows are joined to tiles, which meet themselves, and are cut into rows again."""
    graph = Graph("sized")
    rows = graph.source("rows", Tile(FP32, 1, 4), [len(lengths), graph.symbol("N", ragged=True)])
    tile = rows.accum(RetileRow(), name="tile")
    square = tile.map(Add(), tile, name="twice").map(Mul(), tile, name="square")
    square.flat_map(RetileStreamify(1, "row"), name="cut").sink("y")
    data = [[np.full((1, 4), number)] * length for number, length in enumerate(lengths)]
    given = {"dynamic_rows": 16, "link_bytes": 8, "vector_lanes": 4, **fabric}
    return Program(graph, {"rows": data}, FabricConfig(**given))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sizing() -> step.Sizing:
    return step.size_fifos(sized())


def test_slots_have_room_for_the_rows_that_there_are(sizing: step.Sizing) -> None:
    header, row, static = 2 + 2 * 1, 4 * 32, ("rows", "cut")
    assert sizing.most_rows == {"tile": 5}
    for found, rows in ((sizing.asked, 16), (sizing.lossless, 5)):
        assert found.bits == sum(
            depth * (header + (row if name in static else 5 + rows * row)) for name, depth in found.depths.items()
        )
    assert sizing.lossless.bits < sizing.asked.bits / 4
    assert sizing.lossless.cycles is not None and sizing.asked.cycles is not None
    assert sizing.lossless.cycles <= sizing.asked.cycles
    assert sizing.holds == "this holds for the data of the program"


def test_metrics_count_the_same_room(sizing: step.Sizing) -> None:
    small = sizing.binding(sizing.lossless).applied(sized())
    for found, program in ((sizing.asked, sized()), (sizing.lossless, small)):
        headers = sum(depth * (4 + 5 * (name not in ("rows", "cut"))) for name, depth in found.depths.items())
        assert 8 * step.metrics(program).channel_bytes == found.bits - headers


def test_values_of_several_words_may_have_one_slot(sizing: step.Sizing) -> None:
    netlist = lower(sizing.program.graph, sizing.program.fabric)
    assert {netlist.least_depth(each) for each in netlist.channels} == {1}
    assert {1, 2} == set(sizing.lossless.depths.values()) and set(sizing.least.depths.values()) == {1}
    assert sizing.floor == sizing.least.bits
    for each in sizing.front:
        assert each.cycles == (step.Simulator(sizing.binding(each).applied(sized())).run().cycles,)
    wide = lower(sizing.program.graph, FabricConfig(dynamic_rows=16, link_bytes=256))
    assert {wide.least_depth(each) for each in wide.channels} == {2}
    with raising(FabricError, "the depth of channel 'square' must be an integer >= 2, not 1"):
        wide.with_depths({"square": 1})


def test_a_row_that_is_no_whole_words_takes_those_of_its_places(graph: Graph) -> None:
    rows = graph.source("rows", Tile(FP32, 1, 3), [1, 4])
    rows.sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=8))
    found = step.size_fifos(Program(graph, {"rows": np.ones((1, 4, 1, 3))}, netlist.fabric))
    assert found.floor == 4 + 2 * 64 and found.asked.bits == 2 * found.floor


def test_memories_of_the_hardware_are_as_large_as_that(sizing: step.Sizing) -> None:
    binding = sizing.binding(sizing.lossless)
    bound = binding.applied(sized())
    netlist = lower(bound.graph, bound.fabric)
    assert {each.name: each.rows for each in netlist.channels if netlist.places(each) > 2} == dict.fromkeys(
        ("tile", "tile_broadcast.0", "tile_broadcast.1", "tile_broadcast.2", "twice", "square"), 5
    )
    words = {each.edge.name: each.component.parameters["places"] for each in elaborate(netlist).channels}
    assert words["square"] == netlist.places(netlist.channels[-2]) == 5 * 2


def test_a_binding_keeps_the_room(sizing: step.Sizing, tmp_path: Path) -> None:
    path = tmp_path / "depths.json"
    sizing.binding(sizing.lossless).save(path)
    binding = DepthBinding.load(path)
    assert binding.most_rows == {"tile": 5} and sizing.binding(sizing.asked).most_rows == {}
    bound = binding.applied(sized())
    assert step.run(bound, "approx").cycles == sizing.fewest[0]
    assert list(binding.doubts(sized((1, 6, 0, 0, 0)))) == [
        "the depths were found for other data: they may lose cycles, or deadlock, or have no room for the rows of its "
        "tiles"
    ]
    bound.save(tmp_path / "bound.json")
    assert load_program(tmp_path / "bound.json").graph.most_rows == {"tile": 5}


@pytest.mark.parametrize("backend", ["approx", "interpret"])
def test_more_rows_than_there_is_room_for(sizing: step.Sizing, backend: str) -> None:
    more = sizing.binding(sizing.lossless).applied(sized((1, 6, 0, 0, 0)))
    with pytest.raises(StreamFault) as caught:
        step.run(more, backend)
    assert str(caught.value).partition("): ")[2] == (
        "a tile has more than 5 rows, the most for which the channels behind it have room; with this data, too, "
        "`step fifos` finds more\n  token 6 of rows is a value with S1"
    )


@cases(
    ({"tale": 5}, "most_rows of 'tale': did you mean 'tile'? tiles of dynamic size begin at tile"),
    ({"square": 3}, "most_rows of 'square': tiles of dynamic size begin at tile"),
    ({"tile": 17}, "most_rows of 'tile' must be at most the fabric's dynamic_rows of 16, not 17"),
    ({"tile": 0}, "most_rows of 'tile' must be an integer >= 1, not 0"),
)  # fmt: skip
def test_room_that_there_can_not_be(most_rows: dict[str, int], message: str) -> None:
    program = sized()
    program.graph.most_rows = most_rows
    with raising(FabricError, message):
        step.run(program, "approx")


def test_rows_go_through_loops_and_meet(graph: Graph) -> None:
    """What comes out of several operators has the most rows of all of them."""
    ends = []
    for number in range(2):
        rows = graph.source(f"rows{number}", Tile(FP32, 1, 4), [1, graph.symbol(f"N{number}", ragged=True)])
        ends.append(rows.accum(RetileRow(), name=f"tile{number}"))
    data, which = graph.eager_merge(ends, name="both")
    data.sink("y")
    which.sink("which")
    graph.most_rows = {"tile0": 3, "tile1": 7}
    rows = {each.producer: each.rows for each in lower(graph, FabricConfig(dynamic_rows=16)).channels}
    assert (rows["tile0", 0], rows["tile1", 0], rows["both", 0]) == (3, 7, 7)


@pytest.mark.slow
@pytest.mark.parametrize("links", [{}, {"tile": 16}, {"square": 4}])
def test_sized_fifos_in_rtl(links: dict[str, int]) -> None:
    """No token is off, at either end of the front."""
    program = sized(links=links)
    found = step.size_fifos(program)
    for chosen in (found.lossless, found.least):
        compared = step.compare(found.binding(chosen).applied(program))
        assert compared.passed and compared.mismatches == 0
        assert (compared.exact_cycles,) == chosen.cycles
