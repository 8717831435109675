"""Bufferize and Streamify: types, meaning, metrics, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised
from running import NUMBER, Bench, here, refusal

from sim_approx.backend import run
from step.errors import FabricError
from step.language.dtypes import BF16, FP32, UINT32
from step.language.graph import Graph
from step.language.stream import Stream
from step.language.types import Buffer, Tile
from step.lowering.fabric import FabricConfig
from step.lowering.memory import scratchpads
from step.lowering.netlist import lower
from step.programs.metrics import metrics


def test_types(graph: Graph) -> None:
    n, r = graph.symbol("N"), graph.symbol("R", ragged=True)
    x = graph.source("x", Tile(BF16, 2, 2), [n, r, 3])
    rows, blocks = x.bufferize(name="rows"), x.bufferize(rank=2, name="blocks")
    assert rows.element == Buffer(Tile(BF16, 2, 2), x.shape[2:]) and rows.shape == x.shape[:2]
    assert blocks.element == Buffer(Tile(BF16, 2, 2), x.shape[1:]) and blocks.shape == x.shape[:1]
    reference = graph.source("ref", NUMBER, [n, r, 5])
    assert str(rows.streamify().type) == "[N, R, 3] of Tile(BF16, 2, 2)"
    assert str(rows.streamify(reference).type) == "[N, R, 5, 3] of Tile(BF16, 2, 2)"
    assert str(rows.streamify(out=[2, 4], stride=[1, 0]).type) == "[N, R, 2, 4] of Tile(BF16, 2, 2)"
    # Read once, a ragged dimension has the total extent that it had; read again and again, it has another one.
    assert str(blocks.streamify().type) == "[N, R, 3] of Tile(BF16, 2, 2)"
    assert str(blocks.streamify(count=4, name="again").type) == "[N, 4, again_D1, 3] of Tile(BF16, 2, 2)"


def test_a_buffer_is_read_as_often_as_the_reference_says(bench: Bench) -> None:
    x = bench.source("x", "1 2 S1 3 S1 4 5 S1 E1 D", ["N", "R"])
    reference = bench.source("ref", "9 9 S1 E1 9 S1 9 S1 D", ["N", "Q"])
    assert bench.text(x.bufferize().streamify(reference)) == "1 2 S1 1 2 S2 E2 4 5 S2 E1 S2 D"


@cases(
    ([3, 2], None, "1 2 S1 3 4 S1 5 6 S2 D"),
    ([3, 2], [1, 3], "1 4 S1 2 5 S1 3 6 S2 D"),
    ([2, 3], [0, 1], "1 2 3 S1 1 2 3 S2 D"),
    ([2], [5], "1 6 S1 D"),
)
def test_affine_reads(out: list[int], stride: list[int] | None, text: str, bench: Bench) -> None:
    x = bench.source("x", "1 2 3 S1 4 5 6 S2 D", [1, 2, 3])
    assert bench.text(x.bufferize(rank=2).streamify(out=out, stride=stride)) == text


def buffers(bench: Bench, *dims: Any, rank: int = 1) -> Stream:
    return bench.source("x", "D", dims).bufferize(rank=rank)


@cases(
    ("bufferize", lambda b: b.choose("x", "D", 3, [2, 2]).bufferize(), "a buffer holds tiles, not Selector(3)"),
    ("bufferize", lambda b: buffers(b, 2), "rank must be at least 1, but this stream allows at most 0"),
    ("bufferize", lambda b: buffers(b, 2, 2, rank=2), "rank must be 1 to 1 here, not 2"),
    ("bufferize", lambda b: buffers(b, 2, 3, "R", rank=2),
     "only the outermost dimension of a buffer may be ragged, but its shape is [3, R]"),
    ("streamify", lambda b: b.source("x", "D", [2]).streamify(),
     "streamify reads buffers, which bufferize makes, not Tile(INT32, 1, 1)"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(b.source("r", "D", [2, 2]), count=2),
     "streamify takes a reference or a count, not both"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(b.source("r", "D", [3, 2])),
     "the reference must begin with the dimensions of the buffers, [2], but it is [3, 2]"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(count=0), "count must be at least 1, not 0"),
    ("streamify", lambda b: buffers(b, 2, "R").streamify(out=[2], stride=[1]),
     "strides need a buffer of static shape, but this one is [R]; read it linearly, without out and stride"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(stride=[1]), "a read with strides needs out and stride"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(out=[0]), "out must be extents >= 1, not [0]"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(out=[2], stride=[1, 1]),
     "stride must have one entry per dimension of out [2], not [1, 1]"),
    ("streamify", lambda b: buffers(b, 2, 2, 2, rank=2).streamify(out=[3], stride=[2]),
     "the read goes from tile 0 to tile 4, but the buffer [2, 2] has 4 tiles"),
    ("streamify", lambda b: buffers(b, 2, 2).streamify(out=[2], stride=[-1]),
     "the read goes from tile -1 to tile 0, but the buffer [2] has 2 tiles"),
)  # fmt: skip
def test_what_is_no_buffer_is_refused(operator: str, build: Callable[[Bench], object], message: str) -> None:
    assert refusal(operator, build) == message


def test_metrics() -> None:
    """Paper: |in| + 2 ||buffer|| |in|, and nothing to read; artifact: |buffer| + |tile| besides."""
    graph = Graph("metrics")
    graph.source("x", Tile(FP32, 4, 4), [5, 3, 2]).bufferize(rank=2).streamify().sink("y")
    assert metrics(graph).on_chip_bytes == 64 + 2 * 6 * 64
    assert metrics(graph, accounting="artifact").on_chip_bytes == 64 + 2 * 6 * 64 + 6 * 64 + 64


def test_shares_are_dealt_out_by_turns() -> None:
    graph = Graph("turns")
    for number in range(5):
        graph.source(f"x{number}", NUMBER, [2, 2]).bufferize(name=f"b{number}").streamify().sink(f"y{number}")
    found = scratchpads(lower(graph, FabricConfig(scratchpad_ports=2)))
    assert [[share.filler.name for share in each.shares] for each in found] == [["b0", "b3"], ["b1", "b4"], ["b2"]]


def test_words_of_a_share(graph: Graph) -> None:
    """A tile takes none where only headers are kept: of values that are control, and of those that nobody needs."""
    graph.source("x", Tile(FP32, 4, 4), [2, 3]).bufferize(name="data").streamify().sink("y")
    graph.source("a", Tile(UINT32), [2, 3]).bufferize(name="control").streamify().sink("b")
    reference = graph.source("z", Tile(FP32, 8, 4), [2, 3]).bufferize(name="headers").streamify()
    graph.source("w", Tile(FP32), [2, 1]).expand(reference).sink("expanded")
    found = scratchpads(lower(graph, FabricConfig(page_bytes=1024, link_bytes=16)))
    shares = {share.filler.name: (share.words, share.slots) for each in found for share in each.shares}
    assert shares == {"data": (4, 16), "control": (0, 64), "headers": (0, 64)}


def refused_by_the_fabric(graph: Graph, inputs: dict[str, Any], fabric: FabricConfig) -> str:
    return raised(FabricError, lambda: run(graph, inputs, fabric))


def test_a_static_buffer_that_never_fits(graph: Graph) -> None:
    graph.source("x", Tile(FP32, 16, 16), [1, 65]).bufferize(name="b").streamify().sink("y")
    line = here(1)
    assert refused_by_the_fabric(graph, {"x": np.zeros((1, 65, 16, 16))}, FabricConfig()) == (
        f"bufferize 'b' ({line}): Buffer(Tile(FP32, 16, 16), [65]) takes 66560 bytes of on-chip memory, but a "
        "scratchpad has 65536; make smaller buffers, or choose a fabric with more scratchpad_bytes"
    )


def test_a_tile_that_is_larger_than_a_page() -> None:
    graph = Graph("page")
    graph.source("x", Tile(FP32, 16, 16), [1, 2]).bufferize(name="b").streamify().sink("y")
    line = here(1)
    assert refused_by_the_fabric(graph, {"x": np.zeros((1, 2, 16, 16))}, FabricConfig(page_bytes=512)) == (
        f"bufferize 'b' ({line}): a tile of its buffers has 1024 bytes, but a page of on-chip memory has 512; "
        "choose a fabric with page_bytes=1024"
    )


REROUTED: list[tuple[Callable[[Stream, Graph], object], str]] = [
    (lambda b, g: b.sink("y"), "sink 'y' ({where}): input b"),
    (lambda b, g: b.promote(name="z").streamify().sink("y"), "promote 'z' ({where}): input b"),
    (lambda b, g: (b.streamify().sink("y"), b.streamify().sink("z")), "broadcast 'b_broadcast' ({source}): input b"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "who"), REROUTED, ids=["sink", "promote", "two readers"])
def test_a_buffer_that_something_else_reads(read: Callable[[Stream, Graph], object], who: str, graph: Graph) -> None:
    read(graph.source("x", NUMBER, [2, 2]).bufferize(name="b"), graph)
    source = here(1)
    who = who.format(where=f"{source.partition(':')[0]}:{read.__code__.co_firstlineno}", source=source)
    assert refused_by_the_fabric(graph, {"x": np.zeros((2, 2), int)}, FabricConfig()) == (
        f"{who} carries Buffer(Tile(INT32, 1, 1), [2]); in a fabric the buffers of one bufferize are read by one "
        "streamify, right behind it: bufferize the stream once for each of its readers"
    )
