"""Tiles of dynamic size on the fast model: as long as static ones of as many rows, in order, with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from same import both, events_of

from cosim import backend as rtl
from sim_approx import backend as approx
from sim_approx.backend import simulate
from sim_approx.explain.explanation import explain
from sim_approx.units import bufferize
from step import BF16, FabricConfig, Graph, Program, Simulator, Tile
from step.errors import FabricError, TypeMismatch
from step.functions import Matmul, Mul, MulAdd, RetileCol, RetileRow, RetileStreamify, Silu, Transpose
from step.language.dims import Dim
from step.language.loops import SHORT, RegularStream
from step.lowering.advice import advice
from step.lowering.netlist import lower
from step.lowering.plans.matmul_plan import MatmulPlan
from step.lowering.plans.plan import Timing
from step.programs.data.inputs import bind_inputs
from step.running.interpreter import interpret
from step.running.result import RunResult

SIZE, BLOCKS = 16, 2


def expert(tiles: int, rows: Dim | int, *, pieces: int = SIZE, by_row: bool = True) -> Graph:
    """Rows [tiles, rows] become a tile each, which goes through products by two weights of two blocks."""
    graph = Graph("expert")
    dims = [tiles, graph.symbol("rows", ragged=True) if rows == 0 else rows]
    tile = graph.source("x", Tile(BF16, 1, SIZE), dims).accum(RetileRow(), name="tile")
    up = graph.source("up", Tile(BF16, pieces, SIZE), [tiles, BLOCKS, SIZE // pieces])
    down = graph.source("down", Tile(BF16, SIZE, SIZE), [tiles, BLOCKS])
    again = tile.repeat(BLOCKS, name="again")
    if pieces == SIZE:
        state = again.map(Matmul(), up.flatten(0, 1, name="blocks"), name="product")
    else:
        split = again.flat_map(RetileStreamify(pieces, "col", rank=1), name="split")
        state = split.accum(Matmul(), up, name="product")
    state = state.map(Silu(), name="silu")
    state = state.map(Mul(out=BF16), state, name="square")
    result = state.accum(Matmul(), down, name="total")
    if by_row:
        result = result.flat_map(RetileStreamify(1, "row"), name="rows_of_it")
    else:
        result = result.flat_map(RetileStreamify(1, "row", rank=1), name="rows_of_it")
    result.sink("y")
    return graph


def data(rows: list[int], pieces: int = SIZE) -> dict[str, Any]:
    random = np.random.default_rng(0)
    weights = random.standard_normal((2, len(rows), BLOCKS, SIZE, SIZE)).astype(BF16.numpy)
    x = [[random.standard_normal((1, SIZE)).astype(BF16.numpy) for _ in range(each)] for each in rows]
    up = weights[0].reshape(len(rows), BLOCKS, SIZE // pieces, pieces, SIZE)
    return {"x": x, "up": up, "down": weights[1]}


def events(result: RunResult) -> dict[str, tuple[list[int], list[int]]]:
    assert result.events is not None
    return {name: (each.cycles.tolist(), each.control.tolist()) for name, each in result.events.items()}


def values(result: RunResult) -> dict[str, list[int]]:
    """The cycles of values, by channel."""
    return {
        name: [cycle for cycle, control in zip(*each, strict=True) if control & 2]
        for name, each in events(result).items()
    }


@pytest.mark.parametrize("pieces", [16, 8])
@pytest.mark.parametrize("rows", [[5, 1, 7, 2], [0, 3, 0, 0, 1], [16, 1], [0], [1, 16, 1, 16]], ids=str)
def test_of_different_sizes(rows: list[int], pieces: int) -> None:
    graph, inputs = expert(len(rows), 0, pieces=pieces), data(rows, pieces)
    everything = approx.run(graph, inputs, values="all")
    meaning = interpret(graph, inputs).outputs["y"]
    assert everything.outputs is not None
    got, wanted = (
        [(each.stop, each.rank, each.value.tobytes() if each.has_value else None) for each in tokens]
        for tokens in (everything.outputs["y"], meaning)
    )
    assert got == wanted
    control = approx.run(graph, inputs)
    assert control.cycles == everything.cycles and control.operators == everything.operators
    netlist = lower(graph, FabricConfig())
    for values in ("control", "all"):
        both(netlist, bind_inputs(netlist.graph, inputs), values=values)  # type: ignore[arg-type]


def test_occupancy_follows_the_rows() -> None:
    """More rows take longer, and a unit is busy for as long as with static tiles of the same sizes, one by one."""
    fabric = FabricConfig(matmul_lanes=4)

    def busy(rows: list[int]) -> int:
        return approx.run(expert(len(rows), 0), data(rows), fabric).operators["product"].busy

    alone = [busy([rows]) for rows in (1, 4, 16)]
    assert alone[0] < alone[1] < alone[2]
    # In the last cycle a unit is busy with what is no value.
    assert busy([1, 4, 16]) == sum(alone) - 2


@pytest.mark.parametrize("pieces", [SIZE, SIZE // 2])
def test_rows_that_nobody_reads(pieces: int, graph: Graph) -> None:
    """A reference has no values, but as many elements as tiles have rows."""
    tile = graph.source("x", Tile(BF16, 1, SIZE), [3, graph.symbol("rows", ragged=True)]).accum(RetileRow())
    parts = tile.map(Silu()).flat_map(RetileStreamify(pieces, "col"))
    rows = parts.flat_map(RetileStreamify(1, "row"))
    graph.load(graph.tensor("w", (4, 4), BF16), tile=(4, 4), reference=rows).sink("y")
    netlist = lower(graph, FabricConfig())
    inputs = {"x": data([2, 0, 5])["x"], "w": np.zeros((4, 4))}
    for values in ("control", "all"):
        both(netlist, bind_inputs(netlist.graph, inputs), values=values)  # type: ignore[arg-type]
    control, everything = (approx.run(graph, inputs, values=values) for values in ("control", "all"))  # type: ignore[arg-type]
    assert (control.cycles, control.operators) == (everything.cycles, everything.operators)
    assert control.channels[str(rows)].tokens == 7 * SIZE // pieces + 1


def test_a_factor_for_every_tile_of_a_sum(graph: Graph) -> None:
    """The sum has the rows of the tiles, and not as many as there are factors."""
    tile = graph.source("x", Tile(BF16, 1, SIZE), [3, graph.symbol("rows", ragged=True)]).accum(RetileRow()).repeat(4)
    factors = graph.source("factors", Tile(BF16), [3, 4])
    factors.accum(MulAdd(), tile).flat_map(RetileStreamify(1, "row")).sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=16))
    inputs = bind_inputs(graph, {"x": data([2, 1, 5])["x"], "factors": np.ones((3, 4))})
    runs = [simulate(netlist, inputs, values=values, events=True) for values in ("control", "all")]  # type: ignore[arg-type]
    assert events_of(runs[0]) == events_of(runs[1])


def test_tiles_of_more_rows_than_are_listed() -> None:
    """A long array stays loops without values, and a list of its rows does not: the tiles are the same."""
    graph = Graph("long")
    x = graph.source("x", Tile(BF16, 1, 4), [2, graph.symbol("rows", ragged=True)])
    x.accum(RetileRow()).map(Silu()).flat_map(RetileStreamify(1, "row")).sink("y")
    rows = np.random.default_rng(0).random((2, SHORT // 2 + 1, 1, 4)).astype(BF16.numpy)
    netlist = lower(graph, FabricConfig(link_bytes=16, dynamic_rows=SHORT))
    long, lists = (bind_inputs(graph, {"x": each}) for each in (rows, list(map(list, rows))))
    assert isinstance(long.streams["x"], RegularStream) and isinstance(lists.streams["x"], list)
    both(netlist, long)
    runs = [simulate(netlist, each, events=True) for each in (long, lists)]
    assert events_of(runs[0]) == events_of(runs[1])
    assert runs[0].ending.cycles == runs[1].ending.cycles > SHORT


@pytest.mark.parametrize("rows", [[3], [1, 3], [2, 2, 0]], ids=str)
def test_many_that_repeat(rows: list[int], graph: Graph) -> None:
    """Without a record of events, so that repetitions may be counted instead of gone through: no size is forgotten."""
    tiles = graph.source("x", Tile(BF16, 1, SIZE), [graph.symbol("N"), graph.symbol("rows", ragged=True)])
    tile = tiles.accum(RetileRow()).map(Silu())
    tile.map(Mul(out=BF16), tile).flat_map(RetileStreamify(1, "row")).sink("y")
    netlist = lower(graph, FabricConfig(link_bytes=16))
    inputs = {"x": [[np.zeros((1, SIZE), BF16.numpy)] * each for each in rows * 120]}
    runs = [simulate(netlist, bind_inputs(graph, inputs), engine=engine) for engine in ("compiled", "python")]  # type: ignore[arg-type]
    one, other = (each.result() for each in runs)
    assert (one.cycles, one.operators, one.channels) == (other.cycles, other.operators, other.channels)


def test_runs_again_with_other_channels() -> None:
    """A `Simulator` begins every run with the pace of the first tile still to come."""
    simulator = Simulator(expert(3, 0), inputs=data([16, 1, 4]))
    first = simulator.run().result
    assert (first.engine, first.engine_reason) == ("compiled", None)
    deeper = simulator.run(depths={"tile": 9}).result
    assert deeper.channels["tile"].capacity > first.channels["tile"].capacity
    again = simulator.run().result
    assert (again.cycles, again.operators, again.channels) == (first.cycles, first.operators, first.channels)


def test_a_size_of_which_nobody_knows_the_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error reaches the caller, from both engines."""
    known = MatmulPlan.at

    def at(plan: MatmulPlan, rows: Any) -> Timing:
        if rows == 7:
            raise FabricError("nobody knows")
        return known(plan, rows)

    monkeypatch.setattr(MatmulPlan, "at", at)
    graph = expert(3, 0)
    for engine in ("compiled", "python"):
        with pytest.raises(FabricError) as error:
            approx.run(graph, data([2, 7, 1]), engine=engine)  # type: ignore[arg-type]
        assert str(error.value) == "nobody knows"


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_a_tile_that_nobody_reads_takes_as_long(engine: Any) -> None:
    """A Partition takes as long for a tile of eight rows that it drops as for one that somebody gets."""
    cycles = set()
    for static in (True, False):
        graph = Graph("dropped")
        extent = 8 if static else graph.symbol("rows", ragged=True)
        tiles = graph.source("x", Tile(BF16, 1, SIZE), [3, extent]).accum(RetileRow())
        parts = tiles.partition(graph.selectors("which", 2, [3]), targets=2, name="part")
        parts[1].flat_map(RetileStreamify(1, "row"), name="rows_of_it").sink("y")
        inputs = {"x": data([8] * 3)["x"], "which": [0, 0, 1]}
        result = approx.run(graph, inputs, FabricConfig(link_bytes=16, dynamic_rows=8), engine=engine)
        cycles.add((result.operators["part"].busy, result.cycles))
    assert len(cycles) == 1


@pytest.mark.parametrize("backend", [rtl, approx])
def test_hardware_that_there_is_not(backend: Any, graph: Graph) -> None:
    rows = graph.source("x", Tile(BF16, 1, SIZE), [2, graph.symbol("rows", ragged=True)])
    rows.accum(RetileRow()).map(Silu(), name="f").sink("y")
    with pytest.raises(FabricError) as error:
        backend.run(graph, {"x": [[np.zeros((1, SIZE))], []]}, FabricConfig(link_bytes=1))
    assert str(error.value) == (
        f"map 'f' ({graph.nodes['f'].location}): there is no hardware of the function 'silu' here for tiles with a "
        "dynamic number of rows; choose link_bytes of a scalar or more"
    )


@pytest.mark.parametrize("backend", [rtl, approx])
def test_more_room_than_a_device_has(backend: Any, graph: Graph) -> None:
    tiles = graph.source("x", Tile(BF16, graph.symbol("rows", ragged=True), 4096), [2])
    tiles.map(Silu(), name="f").sink("y")
    with pytest.raises(FabricError) as error:
        backend.run(graph, {"x": [np.zeros((2, 4096))] * 2}, FabricConfig(dynamic_rows=65_536))
    assert str(error.value) == (
        f"map 'f' ({graph.nodes['f'].location}): the channel in front of input 0 (x) has 2 slots, which is "
        "8,589,934,592 bits; a channel may have 268,435,456, here tiles of 2,048 rows: lower dynamic_rows"
    )


def test_an_operator_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of another package may be."""
    fabric = FabricConfig(dynamic_rows=16)
    monkeypatch.delattr(bufferize, "sizes")
    graph = Graph("kept")
    rows = graph.source("x", Tile(BF16, 1, SIZE), [2, graph.symbol("rows", ragged=True)])
    rows.accum(RetileRow()).promote().bufferize(rank=1, name="held").streamify().sink("y")
    with pytest.raises(FabricError) as error:
        approx.run(graph, {"x": [[np.zeros((1, SIZE))], []]}, fabric)
    assert str(error.value) == (
        f"bufferize 'held' ({graph.nodes['held'].location}): only the interpreter has tiles of dynamic size at this "
        "operator; pack their rows into tiles of a static size"
    )


def test_off_chip_memory_has_none(graph: Graph) -> None:
    rows = graph.source("x", Tile(BF16, 1, SIZE), [2, graph.symbol("rows", ragged=True)])
    rows.accum(RetileRow()).store("y")
    with pytest.raises(FabricError) as error:
        approx.run(graph, {"x": [[np.zeros((1, SIZE))], []]})
    assert str(error.value) == (
        f"linear_off_chip_store 'y' ({graph.nodes['y'].location}): Tile(BF16, rows/2, 16) is a tile of dynamic size, "
        "and off-chip memory holds tiles of static size, as it does not say where one ends; store it with "
        "tile=(rows, columns) if all have the same rows, or cut it into rows first, with "
        '.flat_map(RetileStreamify(1, "row"))'
    )


def test_columns_stay_static() -> None:
    graph = Graph("wide")
    pieces = graph.source("x", Tile(BF16, 1, 1), [2, graph.symbol("columns", ragged=True)])
    pieces.accum(RetileCol(), name="wide").map(Silu()).sink("y")
    with pytest.raises(FabricError) as error:
        approx.run(graph, {"x": [[1.0], [2.0, 3.0]]})
    assert str(error.value) == (
        f"accum 'wide' ({graph.nodes['wide'].location}): output 0 carries Tile(BF16, 1, columns/2), a tile with a "
        "dynamic number of columns, and those of a fabric are fixed; join rows in their stead, or lower the program to "
        "tiles of static size"
    )


def test_rows_can_not_become_columns() -> None:
    """By turning a tile, or as the right operand of a product by its transpose."""
    graph = Graph("turned")
    x = graph.source("x", Tile(BF16, graph.symbol("rows", ragged=True), SIZE), [2])
    with pytest.raises(TypeMismatch) as mismatch:
        graph.source("q", Tile(BF16, 4, SIZE), [2]).map(Matmul(transposed=True), x, name="product")
    assert str(mismatch.value).splitlines()[0].partition("): ")[2] == (
        "matmul needs [M,K] and [N,K] tiles, of which only M, the rows of the left one, may be dynamic, "
        "not Tile(BF16, 4, 16), Tile(BF16, rows/2, 16)"
    )
    graph = Graph("turned")
    x = graph.source("x", Tile(BF16, graph.symbol("rows", ragged=True), SIZE), [2])
    x.map(Transpose(), name="turned").sink("y")
    for run in (approx.run, rtl.run):
        with pytest.raises(FabricError) as error:
            run(graph, {"x": [np.ones((1, SIZE)), np.ones((3, SIZE))]})
        assert str(error.value) == (
            f"map 'turned' ({graph.nodes['turned'].location}): output 0 carries Tile(BF16, 16, rows/2), a tile with a "
            "dynamic number of columns, and those of a fabric are fixed; join rows in their stead, or lower the "
            "program to tiles of static size"
        )


def test_widths_and_shares_of_links(graph: Graph) -> None:
    """What is said of links knows that tiles may have fewer rows than there is room for."""
    graph.source("x", Tile(BF16, graph.symbol("rows", ragged=True), SIZE), [6]).map(Silu()).sink("y")
    program = Program(graph, {"x": [np.ones((each, SIZE)) for each in (1, 2, 0, 1, 3, 1)]}, FabricConfig(link_bytes=16))
    assert advice(lower(graph, program.fabric)) == []
    assert advice(lower(graph, FabricConfig(link_bytes=4096, dynamic_rows=8))) == [
        "link_bytes=4096 is wider than anything that this program sends; link_bytes=256 is as fast"
    ]
    shares = explain(program, changes=False).usage.links
    assert 0.5 < max(shares.values()) <= 1
