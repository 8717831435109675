"""Links of single operators, and what lanes have like them: what they change, on both floors, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step.errors import FabricError
from step.functions import Add, Matmul, RowSum, SelectAll, Silu
from step.language.dtypes import BF16, BOOL
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.advice import advice
from step.lowering.fabric import FabricConfig, with_settings
from step.lowering.feasible import check_feasible, with_links
from step.lowering.memory import scratchpads
from step.lowering.netlist import lower
from step.programs.program import Program
from step_check.fuzz.rebuild import Changes, rebuilt
from step_explore.areas import area_of

FABRIC = FabricConfig(link_bytes=16, page_bytes=512, block_ram_words=64, matmul_lanes=8, vector_lanes=4)


def program(links: dict[str, int] | None = None, lanes: dict[str, int] | None = None) -> Program:
    """A product, functions behind it, of which one reads twice, and a buffer."""
    graph = Graph("links")
    random = np.random.default_rng(5)
    x, w = (graph.source(name, step.Tile(BF16, 8, 16), (3, 2)) for name in ("x", "w"))
    first = x.map(Matmul(transposed=True), w, name="first")
    gate = first.map(Silu(), name="gate")
    second = gate.map(Add(), first, name="second")
    kept = second.bufferize(rank=1, name="kept").streamify(name="again")
    kept.map(RowSum(), name="total").sink("y")
    x.promote(name="same").map(RowSum(), name="sum").sink("z")
    x.map(SelectAll(2), name="chosen").sink("targets")
    data = {name: random.standard_normal((3, 2, 8, 16)).astype(np.float32) for name in ("x", "w")}
    return Program(graph, data, replace(FABRIC, links=links or {}, lanes=lanes or {}))


def test_an_operator_has_the_links_that_it_is_given() -> None:
    netlist = lower(program().graph, program({"first": 64, "kept": 4, "x": 8}).fabric)
    assert netlist.links == {
        "x": 8, "x_broadcast": 8, "w": 16, "first": 64, "first_broadcast": 64, "gate": 16, "second": 16, "kept": 4,
        "again": 4, "total": 16, "y": 16, "same": 16, "sum": 16, "z": 16, "chosen": 16, "targets": 16,
    }  # fmt: skip
    by_name = {each.name: each for each in netlist.channels}
    assert [netlist.widths(by_name[name]) for name in ("x_broadcast.0", "first", "second", "again")] == [
        (8, 64), (64, 64), (16, 4), (4, 16),
    ]  # fmt: skip
    assert netlist.words(by_name["second"], "second") == 16 and netlist.words(by_name["second"], "kept") == 64
    assert netlist.words(by_name["second"]) == 64 and netlist.places(by_name["second"]) == 16
    assert [netlist.lag(by_name[name]) for name in ("x_broadcast.0", "w", "first", "second", "again")] == [
        32 - 4, 16 - 4, 0, 0, 64 - 16,
    ]  # fmt: skip


def test_all_floors_agree_and_narrow_links_take_more_cycles() -> None:
    choices: list[dict[str, int]] = [{}, {"gate": 4}, {"kept": 64, "x": 4}, {"first": 2, "same": 1, "y": 64}]
    plain, narrow, wide, narrowest = (step.run(program(links), "approx").cycles for links in choices)
    assert plain < narrow < narrowest and plain < wide
    for links in (choices[1] | choices[2], choices[3]):
        found = step.compare(program(links))
        assert found.agreed, found.complaints


def test_scratchpads_have_words_of_one_width() -> None:
    graph = Graph("buffers")
    x = graph.source("x", step.Tile(BF16, 8, 16), (3, 2))
    for name in ("a", "b", "c"):
        x.bufferize(rank=1, name=name).streamify().sink(f"y_{name}")
    pads = scratchpads(lower(graph, FabricConfig(links={"b": 16})))
    assert [[share.filler.name for share in pad.shares] for pad in pads] == [["a", "c"], ["b"]]
    assert [(pad.page_words, pad.shares[0].words) for pad in pads] == [(16, 4), (64, 16)]


def test_narrow_links_take_less_area() -> None:
    whole, narrow = (
        area_of(lower(program().graph, replace(program().fabric, link_bytes=64, links=links)))
        for links in ({}, {"gate": 8, "second": 8})
    )
    assert narrow.lut_sites < whole.lut_sites


@pytest.mark.parametrize("kind", ["lanes", "links"])
def test_lanes_and_links_are_saved_with_a_program_and_may_be_set(kind: str, tmp_path: Path) -> None:
    saved = program(**{kind: {"gate": 4}})
    saved.save(tmp_path / "saved.json")
    assert step.load_program(tmp_path / "saved.json").fabric == saved.fabric
    found = with_settings(saved.fabric, [f"fabric.{kind}.total=2", f"{kind}.gate=8"])
    assert getattr(found, kind) == {"gate": 8, "total": 2}
    assert kind not in program().fabric.to_json()
    assert hash(saved.fabric) != hash(program().fabric)


@pytest.mark.parametrize("axis", ["lanes.first", "links.gate"])
def test_a_sweep_over_those_of_an_operator(axis: str) -> None:
    found = step.sweep(program(), {axis: [2, 16]}, jobs=1)
    assert [row.status for row in found.rows] == ["finished", "finished"]
    few, many = (row.cycles for row in found.rows)
    assert few > many


@pytest.mark.parametrize("kind", ["lanes", "links"])
def test_a_smaller_program_has_those_that_are_left(kind: str) -> None:
    whole = program(**{kind: {"gate": 4, "total": 2}})
    smaller = rebuilt(whole, Changes(without=frozenset({"y"}), sinks=(("second", 0),)))
    assert getattr(smaller.fabric, kind) == {"gate": 4}
    check_feasible(lower(smaller.graph, smaller.fabric))


HAVING = "x, w, first, gate, second, kept, total, y, same, sum, z"


@cases(
    ("gates",
     "links.gates=4 is for an operator that the program does not have; did you mean 'gate'? those with links "
     f"are {HAVING}"),
    ("targets",
     "sink 'targets' ({here}): no stream at it has words behind its headers, so links.targets=4 has no meaning"),
    ("again",
     "streamify 'again' ({here}): its words are as wide as those of 'kept', so links.again=4 has no meaning; "
     "give links.kept"),
    ("x_broadcast",
     "broadcast 'x_broadcast' ({here}): its words are as wide as those of 'x', so links.x_broadcast=4 has no "
     "meaning; give links.x"),
)  # fmt: skip
def test_links_of_nobody(name: str, message: str) -> None:
    graph = lower(program().graph, FabricConfig()).graph
    assert ", ".join(node.name for node in with_links(lower(program().graph, FabricConfig()))) == HAVING
    for backend in ("approx", "rtl"):
        error = raised(FabricError, step.run, program({name: 4}), backend)
        here = graph.nodes[name].location if name in graph.nodes else ""
        assert error == message.format(here=here)


def test_tuples_of_dynamic_tiles_have_words_of_one_width(graph: Graph) -> None:
    rows = graph.symbol("rows", ragged=True)
    x, z = (graph.source(name, step.Tile(BF16, rows, 16), (6,)) for name in ("x", "z"))
    x.zip(z, name="both").promote(name="same").sink("y")
    error = raised(FabricError, lambda: check_feasible(lower(graph, FabricConfig(links={"same": 16}))))
    node = graph.nodes["same"]
    assert error == (
        f"promote 'same' ({node.location}): input both carries {node.inputs[0].element}, a tuple with tiles of dynamic "
        "size, in words of 64 bytes, and reads words of 16; both ends have to be as wide: choose links.both=16 or "
        "links.same=64"
    )
    check_feasible(lower(graph, FabricConfig(links=dict.fromkeys(("both", "same", "y"), 16))))


@pytest.mark.parametrize(("bits", "least"), [(1024, 128), (1025, 256)])
def test_a_link_has_room_for_bits_beyond_its_bytes(graph: Graph, bits: int, least: int) -> None:
    graph.source("x", Tile(BOOL, 1, bits), [3]).sink("y")
    (hint,) = advice(lower(graph, FabricConfig(link_bytes=512)))
    assert hint.endswith(f"link_bytes={least} is as fast")
