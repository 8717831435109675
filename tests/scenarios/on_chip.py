"""On-chip memory: buffers, and what reads them."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.scenario import ADDRESS, NUMBER, STREAMS, Bench, add, broken, builder, scenario, single
from step.language.dims import Dim
from step.language.dtypes import BF16, BOOL, FP32
from step.language.faults import Fault
from step.language.stream import Stream
from step.language.tokens import Token
from step.language.types import Tile

SQUARE = Tile(FP32, 4, 4)
"""Eight words of the links, and a page."""

for _what, _rank, _text in STREAMS:
    for _inner in range(1, min(_rank, 1) + 1):
        for _count in (None, 2):
            single("bufferize", f"{_inner}-{_count}-{_what}{_rank}", _rank, _text,
                   lambda x, inner=_inner, count=_count: x.bufferize(rank=inner).streamify(count=count))  # fmt: skip

_REGULAR: list[tuple[str, list[Dim | int | str], str]] = [
    ("rows", ["N", "R", 2], "1 2 S1 3 4 S2 5 6 S2 E2 7 8 S1 1 2 S1 3 4 S2 D"),
    ("empty-rows", ["N", "R", 0], "E1 E1 S2 E2 E1 S2 D"),
    ("flat", ["N", "M", 3, 2], "1 2 S1 3 4 S1 5 6 S3 E3 E3 1 2 S1 3 4 S1 5 6 S3 D"),
    ("none", ["N", "R", 2], "D"),
]
for _what, _dims, _text in _REGULAR:
    for _inner in (1, 2):
        for _element in (NUMBER, SQUARE):
            single("bufferize", f"{_what}-{_inner}-{_element.rows}x{_element.cols}", len(_dims) - 1, _text,
                   lambda x, inner=_inner: x.bufferize(rank=inner).streamify(), _element, _dims)  # fmt: skip

single("bufferize", "whole", 2, "1 2 S1 3 4 S2 E2 5 6 S2 D", lambda x: x.bufferize(rank=2).streamify(count=3),
       dims=["N", "R", 2])  # fmt: skip
# No buffer of another scenario has more than seven tokens, so that none waits for each other in one scratchpad.
_FIFTEEN = " ".join(map(str, range(15)))
single("bufferize", "long", 1, "1 2 3 4 5 6 7 8 S1 1 S1 1 2 3 4 5 6 7 S1 D",
       lambda x: x.bufferize().streamify(count=2), Tile(BF16, 1, 12))  # fmt: skip
single("bufferize", "more-than-half", 1, f"{_FIFTEEN} S1 1 2 3 4 5 S1 E1 {_FIFTEEN} S1 {_FIFTEEN} S1 D",
       lambda x: x.bufferize().streamify(), SQUARE)  # fmt: skip
single("bufferize", "single-tiles", 1, "1 S1 2 S1 3 S1 4 S1 5 S1 D", lambda x: x.bufferize().streamify(), SQUARE)
single("bufferize", "bits", 1, "1 2 S1 3 S1 D", lambda x: x.bufferize().streamify(count=2), Tile(BOOL, 1, 3))


@scenario("bufferize", "headers-only")
def headers_only(bench: Bench) -> None:
    """Nobody needs the values: the buffer is a reference."""
    x = bench.play("x", "1 2 S1 E1 3 S1 D", ["N", "R"])
    reference = x.bufferize().streamify(count=2)
    bench.inputs["t"] = [[1.0], [2.0]]
    tensor = bench.graph.tensor("t", [2, 1], BF16)
    bench.graph.load(tensor, tile=(1, 1), out=[2], stride=[1], reference=reference).sink("y")


@scenario("bufferize", "unread")
def unread(bench: Bench) -> None:
    x = bench.play("x", "1 2 S1 E1 3 S1 D", ["N", "R"])
    x.bufferize(name="unread")
    x.sink("y")


@builder
def streamify(
    bench: Bench, data: str | list[Token], dims: Sequence[Dim | int | str], rank: int, reference: str,
    extra: Sequence[str | int], element: Tile = NUMBER, out: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """Buffers of ``rank``, and a reference with the dimensions ``extra`` inside of theirs."""
    shape = bench.dims(dims)
    inner = [bench.graph.symbol(each, ragged=True) if isinstance(each, str) else each for each in extra]
    x = bench.play("x", data, shape, element).bufferize(rank=rank)
    x.streamify(bench.play("ref", reference, [*shape[:-rank], *inner]), out=out, stride=stride).sink("y")


add("streamify", "once", streamify("1 2 S1 3 S1 E1 D", ["N", "R"], 1, "9 9 9 D", []))
add("streamify", "again", streamify("1 2 S1 3 S1 E1 D", ["N", "R"], 1, "9 9 S1 9 S1 9 9 9 S1 D", ["Q"]))
add("streamify", "unread-buffers", streamify("1 2 S1 3 S1 4 5 6 7 8 9 S1 4 S1 D", ["N", "R"], 1,
                                             "9 S1 E1 E1 9 9 S1 D", ["Q"]))  # fmt: skip
add("streamify", "nested", streamify("1 2 S1 E1 3 S2 E2 4 S2 D", ["N", "M", "R"], 1,
                                     "9 9 S1 9 S1 9 S2 E2 9 9 S2 D", ["Q"]))  # fmt: skip
add("streamify", "two-more", streamify("1 2 S1 3 S1 4 S1 E1 D", ["N", "R"], 1,
                                       "9 9 S1 E1 9 S2 E2 E1 S2 9 S1 9 9 S2 D", ["P", "Q"], SQUARE))  # fmt: skip
add("streamify", "rows", streamify("1 2 S1 3 4 S2 5 6 S2 E2 D", ["N", "R", 2], 2, "9 9 S1 9 S1 9 9 S1 D", ["Q"]))
add("streamify", "control", streamify("1 2 S1 3 S1 E1 4 5 6 S1 D", ["N", "R"], 1,
                                      "9 9 S1 9 S1 9 S1 E1 D", ["Q"], ADDRESS))  # fmt: skip
add("streamify", "nothing", streamify("D", ["N", "R"], 1, "D", ["Q"]))

_SIX = "1 2 3 S1 4 5 6 S2 7 8 9 S1 10 11 12 S2 D"
for _name, _out, _stride in (
    ("transposed", [3, 2], [1, 3]),
    ("row", [3], [1]),
    ("repeated", [2, 2, 2], [0, 3, 1]),
    ("one", [1], [0]),
    ("last", [2], [5]),
):
    single("streamify", f"affine-{_name}", 2, _SIX,
           lambda x, out=_out, stride=_stride: x.bufferize(rank=2).streamify(out=out, stride=stride),
           Tile(BF16, 2, 3), ["N", 2, 3])  # fmt: skip
    add("streamify", f"affine-{_name}-again",
        streamify(_SIX, ["N", 2, 3], 2, "9 9 S1 E1 D", ["Q"], SQUARE, _out, _stride))  # fmt: skip
single("streamify", "affine-control", 2, _SIX,
       lambda x: x.bufferize(rank=2).streamify(count=2, out=[3, 2], stride=[1, 3]), ADDRESS, ["N", 2, 3])  # fmt: skip
single("streamify", "affine-count", 2, _SIX,
       lambda x: x.bufferize(rank=2).streamify(count=2, out=[3, 2], stride=[1, 3]), SQUARE, ["N", 2, 3])  # fmt: skip


@builder
def together(bench: Bench, count: int, element: Tile) -> None:
    """Several buffers that want the same memory at the same time."""
    text = "1 2 3 S1 4 S1 5 6 S1 7 8 9 1 S1 E1 2 S1 D"
    for number in range(count):
        x = bench.play(f"x{number}", text, [f"N{number}", f"R{number}"], element)
        x.bufferize().streamify(count=number + 1).sink(f"y{number}")


add("streamify", "together-2", together(2, SQUARE))
add("streamify", "together-3", together(3, NUMBER))
add("streamify", "together-4", together(4, Tile(BF16, 2, 4)))


@scenario("streamify", "two-rates")
def two_rates(bench: Bench) -> None:
    """Tiles of a word beside tiles of eight; both are read three times."""
    large: Stream = bench.play("x", "1 2 3 S1 4 S1 5 6 S1 D", ["N", "R"], SQUARE).bufferize()
    small: Stream = bench.play("w", " ".join(["1 2 3 4 5 6 7 S1"] * 8) + " D", ["M", "Q"]).bufferize()
    large.streamify(count=3).sink("y")
    small.streamify(count=3).sink("z")


broken(
    "streamify", "stop", Fault.STOPS_DISAGREE, streamify("1 S1 2 S2 D", ["N", "M", "R"], 1, "9 S1 9 S1 9 S2 D", ["Q"])
)
broken("streamify", "done", Fault.STOPS_DISAGREE, streamify("1 S1 D", ["N", "R"], 1, "9 S1 9 S1 D", ["Q"]))
broken("streamify", "empty", Fault.STOPS_DISAGREE, streamify("1 S2 D", ["N", "M", "R"], 1, "E2 D", ["Q"]))
broken("streamify", "not-empty", Fault.STOPS_DISAGREE, streamify("E2 D", ["N", "M", "R"], 1, "9 S2 D", ["Q"]))
broken("streamify", "once", Fault.STOPS_DISAGREE, streamify("1 S1 2 S1 D", ["N", "R"], 1, "9 D", []))
