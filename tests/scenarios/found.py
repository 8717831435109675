"""Programs in which a fault was found once."""

from __future__ import annotations

from scenarios.scenario import Bench, add, builder, dims_of, single
from scenarios.several_inputs import reassemble
from step.functions.elementwise import Add
from step.functions.select import SelectAll
from step.language.dtypes import FP32
from step.language.types import Selector, Tile

# -- empties that a release once lost ---------------------------------------------------------------------------------

single("accum", "static-one-empty", 2, "1 2 S2 E1 S2 D", lambda x: x.accum(Add()), Tile(FP32), [2, 1, "R"])
single("flatten", "static-one-empty", 2, "1 2 S2 E1 S2 D", lambda x: x.flatten(1, 2), Tile(FP32), [2, 1, "R"])
single("promote", "empty-row-accum", 1, "E1 D", lambda x: x.promote().accum(Add()), Tile(FP32), ["N", "R"])


@builder
def _routed_sum(bench: Bench, rank: int, order: str, data: str, selectors: str) -> None:
    """Chunks that go through two targets, are gathered again, and summed per selector."""
    x = bench.play("x", data, dims_of(rank), Tile(FP32))
    which = bench.choose("which", selectors, 2, x.shape[:1])
    parts = x.partition(which, targets=2, rank=rank)
    bench.graph.reassemble(parts, which, rank=rank, order=order).accum(Add(), rank=rank + 1).sink("y")


for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-empty-accum", _routed_sum(0, _order, "1 2 3 4 D", "1 0 3 0 D"))
    add("reassemble", f"{_order}-empty-rows-accum", _routed_sum(1, _order, "1 2 S1 3 S1 E1 4 S1 D", "1 0 3 2 D"))

# -- control that becomes other control, and an arrival that is nobody's but one input's ----------------------------

single("map", "select_all-of-selectors", 1, "1 0 S1 E1 1 S1 D", lambda x: x.map(SelectAll(3)), Selector(1))
for _order in ("index", "arrival"):
    add("reassemble", f"{_order}-one-input", reassemble(1, _order, ["1 2 S1 E1 3 S1 D"], "1 0 1 1 D"))
