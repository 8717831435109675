"""Every operator that applies no function, with values that are the bench's tiles."""

from __future__ import annotations

import numpy as np

from cosim.calibration.bench import EACH, Bench, Build
from step import ops
from step.language.types import Selector


def _read_twice(bench: Bench) -> None:
    x = bench.flat
    for number in range(2):
        x.sink(f"{bench.label}{number}")


OPERATORS: dict[str, Build] = {
    "source": lambda b: b.play(b.tile, [b.values], name=b.label),
    "sink": lambda b: b.graph.add(ops.Sink(), [b.flat], name=b.label),
    "broadcast": _read_twice,
    "generate": lambda b: b.graph.constant(np.ones(b.tile.shape), [b.values], name=b.label),
    "promote": lambda b: b.flat.promote(name=b.label),
    "flatten": lambda b: b.nested.flatten(0, 1, name=b.label),
    "reshape": lambda b: b.flat.reshape(EACH, name=b.label),
    "expand": lambda b: b.play(b.tile, [b.values // EACH, 1]).expand(b.nested, name=b.label),
    "zip": lambda b: b.flat.zip(b.flat, name=b.label),
    "item_of": lambda b: b.flat.zip(b.flat).item_of(1, name=b.label),
    "bufferize": lambda b: b.nested.bufferize(name=b.label).streamify(),
    "streamify": lambda b: b.nested.bufferize().streamify(name=b.label),
    "partition": lambda b: b.flat.partition(b.play(Selector(2), [b.values]), targets=2, name=b.label),
    "reassemble": lambda b: b.graph.reassemble(
        [b.play(b.tile, [b.values // 2]) for _ in range(2)], b.play(Selector(2), [b.values]), name=b.label
    ),
    "eager_merge": lambda b: b.graph.eager_merge([b.play(b.tile, [b.values // 2]) for _ in range(2)], name=b.label),
    "linear_off_chip_load": lambda b: b.graph.load(b.tensor("x"), tile=b.tile.shape, name=b.label),
    "linear_off_chip_store": lambda b: b.flat.store(b.label),
    "random_off_chip_load": lambda b: b.addresses().load_random(b.tensor("x"), tile=b.tile.shape, name=b.label),
    "random_off_chip_store": lambda b: b.flat.store_random(b.tensor("x"), b.addresses(), name=b.label),
}
"""By name; what is called as its label is the unit."""
