"""Transfers that no stream may have are faults of the source that they come to, whatever reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from grids import samples
from restarting import Board

from step.language.dtypes import FP32
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.types import Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs
from step.running.contracts import stream_fault

FABRIC = FabricConfig(link_bytes=8)
DONE, VALUE = 1, 2


def transfer(header: int, data: int = 0, *, last: int = 1, rank: int = 0) -> int:
    """A transfer of a stream of ``rank``; a header has `DONE`, `VALUE`, and from bit 2 on stop and rank."""
    return (data << 1 | last) << 2 + 2 * max(1, rank.bit_length()) | header


def header(rank: int, *, stop: int = 0, empty: int = 0, kind: int = 0) -> int:
    """The header of a token of a stream of ``rank``, well-formed or not."""
    return kind | stop << 2 | empty << 2 + max(1, rank.bit_length())


def played(build: Callable[[Graph], Any], name: str, transfers: list[int]) -> tuple[int, str, bool]:
    """Code and text of the fault that a fabric meets whose source ``name`` gets ``transfers``, and whether it ends."""
    graph = Graph("malformed")
    inputs = build(graph)
    netlist = lower(graph, FABRIC)
    board = Board(netlist, bind_inputs(graph, inputs))
    board.sources[name] = transfers
    found = []

    async def bench(context: Any) -> None:
        await board.run(context, 60)
        found.extend(context.get(each) for each in (board.top.fault, board.top.fault_unit, board.top.done))

    board.play(bench)
    code, unit, done = found
    text = str(stream_fault(netlist.units[unit], Fault(code), {})) if code else ""
    return code, text.replace(str(netlist.units[unit].location), "LINE"), bool(done)


def partition(graph: Graph) -> Any:
    x = graph.source("x", Tile(FP32), [4])
    for name, part in zip("ab", x.partition(graph.selectors("which", 2, [4]), targets=2), strict=True):
        part.sink(name)
    return {"x": [1, 2, 3, 4], "which": [0, 1, 0, 1]}


def reassemble(graph: Graph) -> Any:
    parts = [graph.source(name, Tile(FP32), [2]) for name in "ab"]
    graph.reassemble(parts, graph.selectors("which", 2, [4])).sink("y")
    return {"a": [1, 2], "b": [3, 4], "which": [0, 1, 0, 1]}


def one_hot(graph: Graph) -> Any:
    """Selectors that nobody routes by."""
    graph.selectors("which", 2, [4]).sink("y")
    return {"which": [0, 1, 0, 1]}


def in_a_tuple(graph: Graph) -> Any:
    """The selector is the third word of a value."""
    pairs = graph.source("which", Tuple((Tile(FP32, 1, 4), Selector(2))), [1])
    x = graph.source("x", Tile(FP32), [1])
    for name, part in zip("ab", x.partition(pairs.item_of(1), targets=2), strict=True):
        part.sink(name)
    return {"which": [([[1, 2, 3, 4]], 1)], "x": [1]}


SELECTING = [partition, reassemble, one_hot]
NO_TARGET = "source 'which' (LINE): a selector names a target that is not there"


@samples(mask=[0x04, 0x06, 0x80, 0xFF], build=SELECTING)
def test_a_selector_names_targets_that_are_there(build: Callable[[Graph], Any], mask: int) -> None:
    ones = [transfer(VALUE, each) for each in (1, 2, mask, 2)]
    assert played(build, "which", [*ones, transfer(DONE)]) == (Fault.NO_SUCH_TARGET, NO_TARGET, False)


@pytest.mark.parametrize("build", SELECTING)
def test_all_targets_that_are_there_may_be_named(build: Callable[[Graph], Any]) -> None:
    masks = [transfer(VALUE, each) for each in (1, 2, 1, 2)]
    assert played(build, "which", [*masks, transfer(DONE, 0xFF)]) == (0, "", True)


@pytest.mark.parametrize("mask", [2, 4, 1 << 63])
def test_a_selector_of_a_tuple_names_targets_that_are_there(mask: int) -> None:
    words = [transfer(VALUE, 0xFFFFFFFFFFFFFFFF, last=0), transfer(VALUE, 0xFFFFFFFFFFFFFFFF, last=0)]
    code, text, done = played(in_a_tuple, "which", [*words, transfer(VALUE, mask), transfer(DONE)])
    assert (code, text, done) == ((0, "", True) if mask == 2 else (Fault.NO_SUCH_TARGET, NO_TARGET, False))


def matrices(graph: Graph) -> Any:
    """A stream of rank 2, of values of two words."""
    length = [graph.symbol(name, ragged=True) for name in "KML"]
    graph.source("x", Tile(FP32, 1, 4), [length[0], length[1], length[2]]).sink("y")
    return {"x": []}


def of_rank_two(*headers: dict[str, int]) -> list[int]:
    """Transfers of tokens with these headers; of a value there are two."""
    found = []
    for each in headers:
        bits = header(2, **each)
        found += [transfer(bits, last=0, rank=2)] * bool(bits & VALUE) + [transfer(bits, rank=2)]
    return found


ONE, END = {"kind": VALUE}, {"kind": VALUE, "stop": 2}
FINISH = {"kind": DONE}
GOOD = {
    "nothing": [FINISH],
    "values": [ONE, {"kind": VALUE, "stop": 1}, END, FINISH],
    "empties": [{"stop": 2, "empty": 2}, {"stop": 1, "empty": 1}, {"stop": 2, "empty": 1}, END, FINISH],
    "empty behind a row": [ONE, {"kind": VALUE, "stop": 1}, {"stop": 2, "empty": 1}, FINISH],
}
WRONG = {
    "a stop above the rank": [{"kind": VALUE, "stop": 3}, FINISH],
    "an empty above the rank": [{"stop": 3, "empty": 3}, FINISH],
    "an empty without its stop": [{"stop": 0, "empty": 1}, FINISH],
    "an empty that ends less than itself": [{"stop": 1, "empty": 2}, FINISH],
    "an empty of no rank": [{}, FINISH],
    "an empty with a stop only": [{"stop": 2}, FINISH],
    "an empty row amid a row": [ONE, {"stop": 1, "empty": 1}, END, FINISH],
    "an empty matrix amid a matrix": [{"kind": VALUE, "stop": 1}, {"stop": 2, "empty": 2}, FINISH],
    "a value that is an empty": [{"kind": VALUE, "stop": 1, "empty": 1}, FINISH],
    "Done amid a row": [ONE, FINISH],
    "Done amid a matrix": [{"kind": VALUE, "stop": 1}, FINISH],
    "Done with a value": [END, {"kind": DONE | VALUE}],
    "Done with a stop": [END, {"kind": DONE, "stop": 1}],
    "Done with a rank": [END, {"kind": DONE, "empty": 1}],
}
NO_TOKEN = "source 'x' (LINE): what it is given is no token that its stream may have next"


@pytest.mark.parametrize("name", GOOD)
def test_what_a_stream_may_have_is_taken(name: str) -> None:
    assert played(matrices, "x", of_rank_two(*GOOD[name])) == (0, "", True)


@pytest.mark.parametrize("name", WRONG)
def test_what_a_stream_may_not_have_is_a_fault(name: str) -> None:
    assert played(matrices, "x", of_rank_two(*WRONG[name])) == (Fault.NO_TOKEN, NO_TOKEN, False)


TRANSFERS = {
    "a value that ends early": [transfer(VALUE, rank=2), transfer(DONE, rank=2)],
    "a value without an end": [transfer(VALUE, last=0, rank=2)] * 3,
    "Done without an end": [transfer(DONE, last=0, rank=2)],
    "words without a value": [transfer(0, last=0, rank=2), transfer(VALUE, rank=2)],
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_token_has_as_many_transfers_as_words(name: str) -> None:
    assert played(matrices, "x", TRANSFERS[name]) == (Fault.NO_TOKEN, NO_TOKEN, False)
