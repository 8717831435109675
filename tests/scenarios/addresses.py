"""Addresses and counts: tiles of one UINT32, which travel in headers, on every way into and out of words."""

from __future__ import annotations

import numpy as np

from scenarios.scenario import ADDRESS, Bench, scenario, single
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.select import SelectAll
from step.language.dtypes import BF16, UINT32
from step.language.types import Tile

_TEXT = "1 2 S1 E1 3 4 5 S2 E1 6 S2 E2 D"

for _operator, _apply in (
    ("source", lambda x: x),
    ("broadcast", lambda x: [x, x.map(SelectAll(2)), x]),
    ("promote", lambda x: x.promote()),
    ("flatten", lambda x: x.flatten(0, 1)),
    ("reshape", lambda x: x.reshape(3, pad=7)),
    ("expand", lambda x: x.repeat(2)),
    ("zip", lambda x: x.zip(x, x)),
    ("flat_map", lambda x: x.flat_map(RetileStreamify(1, "row", 1))),
    ("linear_off_chip_store", lambda x: x.store("out") or []),
):
    single(_operator, "address", 2, _TEXT, _apply, ADDRESS)

single("accum", "addresses-row", 2, "1 2 3 S1 4 5 6 S2 E2 D", lambda x: x.accum(RetileRow()), ADDRESS, ["N", "M", 3])
single("accum", "addresses-col", 1, "1 2 3 S1 4 5 6 S1 D", lambda x: x.accum(RetileCol()), ADDRESS, ["N", 3])
single("accum", "addresses-one", 1, "1 S1 4 S1 D", lambda x: x.accum(RetileRow()), ADDRESS, ["N", 1])
single("flat_map", "addresses-1", 1, _TEXT.replace("S2", "S1").replace("E2", "E1"),
       lambda x: x.flat_map(RetileStreamify(1, "col")), Tile(UINT32, 1, 5))  # fmt: skip
single(
    "flat_map",
    "addresses-2",
    1,
    "1 2 S1 E1 3 S1 D",
    lambda x: x.flat_map(RetileStreamify(1, "row", 1)),
    Tile(UINT32, 2, 1),
)


@scenario("partition", "addresses")
def _parted(bench: Bench) -> None:
    """Through Partition and Reassemble."""
    dims = bench.dims(["N"])
    which = bench.choose("which", "1 2 3 1 0 2 D", 2, dims)
    parts = bench.play("x", "1 2 3 4 5 6 D", dims, ADDRESS).partition(which, targets=2)
    bench.graph.reassemble(parts, which, order="index").sink("y")


@scenario("linear_off_chip_load", "addresses")
def _loaded(bench: Bench) -> None:
    """From memory, once and per element of a reference."""
    table = bench.graph.tensor("table", (3, 4), UINT32)
    bench.inputs["table"] = np.arange(12).reshape(3, 4) * 1_000_003
    bench.graph.load(table, tile=(1, 1)).sink("all")
    x = bench.play("x", "E1 1 2 S1 3 S1 D", ["N", "M"], Tile(BF16, 2, 2))
    bench.graph.load(table, tile=(1, 1), out=(2,), stride=(3,), offset=1, reference=x).sink("some")
