"""Programs that break a contract."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.scenario import Bench, broken, builder
from scenarios.several_inputs import expand, partition, reassemble, until
from step.functions.elementwise import Mul
from step.functions.matmul import Matmul
from step.language.dtypes import BF16
from step.language.faults import Fault
from step.language.stream import Stream
from step.language.types import Tile


@builder
def _unequal(bench: Bench, apply: Callable[[Stream, Stream], Stream], left: str, right: str) -> None:
    dims = bench.dims(["N", "M"])
    tile = Tile(BF16, 2, 2)
    apply(bench.play("x", left, dims, tile), bench.play("w", right, dims, tile)).sink("y")


for _operator, _apply in (
    ("map", lambda x, w: x.map(Mul(), w)),
    ("zip", lambda x, w: x.zip(w)),
    ("accum", lambda x, w: x.accum(Matmul(), w)),
):
    broken(_operator, "stop", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 S1 3 S1 D"))
    broken(_operator, "bare", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 2 S1 E1 D"))
    broken(_operator, "done", Fault.STOPS_DISAGREE, _unequal(_apply, "1 2 S1 3 S1 D", "1 2 S1 D"))

broken("expand", "stop", Fault.STOPS_DISAGREE, expand(1, "1 S1 2 S2 D", "9 9 S1 9 9 S1 9 S2 D", 2))
broken("expand", "done", Fault.STOPS_DISAGREE, expand(1, "1 S1 D", "9 9 S1 9 S1 D", 1))
broken("expand", "empty", Fault.STOPS_DISAGREE, expand(1, "E2 D", "9 9 S2 D", 2))
broken("partition", "missing", Fault.MISSING_DATA, partition(1, 2, "1 2 S1 D", "1 2 D"))
broken("partition", "leftover", Fault.LEFTOVER_DATA, partition(1, 2, "1 2 S1 3 S1 D", "1 D"))
broken("partition", "missing-empty", Fault.MISSING_DATA, partition(0, 2, "1 S1 D", "1 S1 E1 D", 2))
broken("partition", "stop", Fault.STOPS_DISAGREE, partition(1, 2, "1 2 S1 3 S2 D", "1 S1 2 S1 D", 2))
broken("partition", "bare", Fault.STOPS_DISAGREE, partition(0, 2, "1 S1 E1 D", "1 S1 2 S1 D", 2))
broken("partition", "not-bare", Fault.STOPS_DISAGREE, partition(0, 2, "1 S1 2 S1 D", "1 S1 E1 D", 2))
broken("until", "selectors", Fault.MISSING_DATA, until("1 2 3 D", "1 1 D"))
broken("until", "no-selectors", Fault.MISSING_DATA, until("1 2 S1 3 S1 D", "D", 1))
for _order in ("index", "arrival"):
    broken("reassemble", f"{_order}-missing", Fault.MISSING_DATA, reassemble(0, _order, ["1 D", "2 D"], "1 2 2 D"))
    broken("reassemble", f"{_order}-leftover", Fault.LEFTOVER_DATA, reassemble(0, _order, ["1 D", "2 3 D"], "1 2 D"))
