"""Addresses of the weights of experts, and of what requests have in a cache."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.scenario import STREAMS, Bench, add, broken, builder, scenario, single
from step.functions.cache import CacheEnd, CacheRows, CacheTiles, ExpertTiles
from step.functions.edit import FilterLastTile
from step.functions.retile import RetileStreamify
from step.functions.select import SelectAll, TopK
from step.language.dtypes import BF16, UINT32
from step.language.faults import Fault
from step.language.function import CountedFunction
from step.language.stream import Stream
from step.language.types import Selector, Tile

ADDRESS = Tile(UINT32)
_EXPERTS = "E1 1 2 S1 E1 0 3 4 S1 D"

for _rank, _text in ((1, _EXPERTS), (0, "4 0 2 D"), (2, "E2 1 S1 E1 S2 3 0 S2 D")):
    single("flat_map", f"expert_tiles-{_rank}", _rank, _text, lambda x: x.flat_map(ExpertTiles(5, 3, 7)), ADDRESS)
single("flat_map", "expert_tiles-one", 1, _EXPERTS, lambda x: x.flat_map(ExpertTiles(5, 1)), ADDRESS)
single(
    "flat_map", "expert_tiles-selector", 1, "E1 1 2 S1 E1 16 8 4 S1 D",
    lambda x: x.flat_map(ExpertTiles(5, 4, 1)), Selector(5),
)  # fmt: skip
single("flat_map", "expert_tiles-only", 1, "E1 1 1 S1 D", lambda x: x.flat_map(ExpertTiles(1, 2)), Selector(1))
single(
    "flat_map", "expert_tiles-unread", 1, _EXPERTS,
    lambda x: x.flat_map(ExpertTiles(5, 2)).map(SelectAll(2)), ADDRESS,
)  # fmt: skip


@scenario("flat_map", "expert_tiles-top_k")
def _chosen(bench: Bench) -> None:
    """From scores to the tiles of the expert with the largest one."""
    scores = bench.play("x", "1 25 33 46 12 57 D", ["N"], Tile(BF16, 1, 4))
    scores.map(TopK(1)).flat_map(ExpertTiles(4, 2)).sink("y")


@builder
def _cache(
    bench: Bench, apply: Callable[[Stream, Stream], Stream], requests: str = "E1 1 2 S1 E1 0 1 0 S1 D",
    lengths: str = "E1 0 4 S1 E1 9 12 1 S1 D",
) -> None:  # fmt: skip
    request = bench.play("request", requests, ["N", "M"], ADDRESS)
    apply(request, bench.play("length", lengths, request.shape, ADDRESS)).sink("y")


def _tiles(rows: int, base: int = 0) -> CountedFunction:
    return CacheTiles(requests=3, tiles=12 // rows, rows=rows, base=base)


add("flat_map", "cache_tiles", _cache(lambda request, length: request.flat_map(_tiles(4, 100), length)))
add("flat_map", "cache_tiles-odd", _cache(lambda request, length: request.flat_map(_tiles(3), length)))
add("flat_map", "cache_tiles-rows", _cache(lambda request, length: request.flat_map(_tiles(1), length)))
add("flat_map", "cache_tiles-whole", _cache(lambda request, length: request.flat_map(_tiles(12), length)))
for _what, _rank, _text in STREAMS[:9]:
    single("flat_map", f"cache_rows-{_what}{_rank}", _rank, _text, lambda x: x.flat_map(CacheRows(3)), ADDRESS)
single("flat_map", "cache_rows-none", 1, "0 S1 E1 0 3 0 S1 D", lambda x: x.flat_map(CacheRows(3)), ADDRESS)

_END = CacheEnd(requests=3, tiles=4, rows=4, base=5)
add("map", "cache_end", _cache(lambda request, length: request.map(_END, length)))


@scenario("map", "filter_last_tile-of-sequences")
def _filtered(bench: Bench) -> None:
    """The tiles of sequences, the last one of each padded behind its last row."""
    lengths = bench.play("length", "3 4 1 D", ["N"], ADDRESS)
    counts = lengths.flat_map(CacheRows(2))
    x = bench.play("x", "1 2 S1 3 4 S1 5 S1 D", counts.shape, Tile(BF16, 2, 3))
    x.map(FilterLastTile(-1.5), counts).flat_map(RetileStreamify()).sink("y")


@builder
def _experts(bench: Bench, text: str, element: Tile | Selector) -> None:
    bench.play("x", text, ["N", "M"], element).flat_map(ExpertTiles(5, 2)).sink("y")


broken("flat_map", "expert", Fault.OUT_OF_RANGE, _experts("1 S1 4 5 S1 D", ADDRESS))
broken("flat_map", "experts", Fault.OUT_OF_RANGE, _experts("1 S1 3 S1 D", Selector(5)))
broken("flat_map", "no-expert", Fault.OUT_OF_RANGE, _experts("1 S1 0 S1 D", Selector(5)))

for _what, _apply in (
    ("tiles", lambda request, length: request.flat_map(_tiles(4), length)),
    ("end", lambda request, length: request.map(_END, length)),
):
    _operator = "map" if _what == "end" else "flat_map"
    broken(_operator, f"cache_{_what}-request", Fault.OUT_OF_RANGE, _cache(_apply, "1 3 S1 D", "1 1 S1 D"))
    broken(_operator, f"cache_{_what}-length", Fault.OUT_OF_RANGE, _cache(_apply, "1 2 S1 D", "1 16 S1 D"))
broken("flat_map", "cache_tiles-stop", Fault.STOPS_DISAGREE,
       _cache(lambda request, length: request.flat_map(_tiles(4), length), "1 3 S1 D", "1 S1 D"))  # fmt: skip
