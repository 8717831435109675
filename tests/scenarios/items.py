"""Items of tuples."""

from __future__ import annotations

from scenarios.scenario import STREAMS, Bench, dims_of, scenario, single
from step.functions.elementwise import Add
from step.language.dtypes import BF16, BOOL, INT8, INT32
from step.language.types import Selector, Tile, Tuple

SMALL = Tuple((Tile(BOOL, 1, 3), Tile(BF16, 2, 3), Selector(3), Tile(INT8)))
NESTED = Tuple((Tile(BF16, 3, 3), Tuple((Tile(INT32), Selector(70), Tile(BF16, 1, 5))), Selector(2)))

for _what, _rank, _text in STREAMS:
    if _what in ("nothing", "one", "empties"):
        single("item_of", f"{_what}{_rank}", _rank, _text, lambda x: list(x), SMALL)
for _index in range(4):
    single("item_of", f"small-{_index}", 1, "1 2 S1 E1 3 4 5 S1 D", lambda x, index=_index: x[index], SMALL)
for _index in range(3):
    single("item_of", f"nested-{_index}", 0, "1 2 3 0 D", lambda x, index=_index: x[index], NESTED)
    single("item_of", f"inner-{_index}", 0, "1 2 3 0 D", lambda x, index=_index: x[1][index], NESTED)


@scenario("item_of", "through-a-zip")
def through_a_zip(bench: Bench) -> None:
    """A pair routed as one, and parted again: its selector decides."""
    x = bench.play("x", "1 2 3 4 5 D", dims_of(0), Tile(BF16, 2, 4))
    inner = bench.choose("inner", "1 2 3 0 1 D", 2, x.shape)
    part, rest = x.zip(inner).partition(bench.choose("outer", "1 3 1 2 1 D", 2, x.shape), targets=2)
    tile, which = part
    for port, each in enumerate(tile.partition(which, targets=2)):
        each.sink(f"y{port}")
    first, _ = rest
    first.map(Add(BF16), first).sink("rest")


@scenario("item_of", "unread")
def unread(bench: Bench) -> None:
    """Of an item nobody needs values."""
    x = bench.play("x", "1 2 S1 E1 3 S1 D", dims_of(1), SMALL)
    x.flatten(0, 1).sink("all")
    bench.graph.count([2], reference=x[1]).sink("y")
