"""Every operator that applies no function, with values that are the bench's tiles.

A unit has the name of the function that puts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.calibration.bench import EACH, Bench, Build
from step.language.types import Selector

OPERATORS: dict[str, Build] = {}
"""By name; what is called as its label is the unit."""


def unit(build: Build) -> Build:
    """Enter ``build`` in `OPERATORS`."""
    OPERATORS[build.__name__] = build
    return build


@unit
def source(b: Bench) -> Any:
    return b.play(b.tile, [b.values], 1, b.label)


@unit
def sink(b: Bench) -> Any:
    b.flat.sink(b.label)


@unit
def broadcast(b: Bench) -> Any:
    x = b.flat
    for number in range(2):
        x.sink(f"{b.label}{number}")


@unit
def generate(b: Bench) -> Any:
    return b.graph.constant(np.ones(b.tile.shape), [b.values], name=b.label)


@unit
def promote(b: Bench) -> Any:
    return b.flat.promote(name=b.label)


@unit
def flatten(b: Bench) -> Any:
    return b.nested.flatten(0, 1, name=b.label)


@unit
def reshape(b: Bench) -> Any:
    return b.flat.reshape(EACH, name=b.label)


@unit
def expand(b: Bench) -> Any:
    return b.play(b.tile, [b.values // EACH, 1], 1).expand(b.nested, name=b.label)


@unit
def zip(b: Bench) -> Any:
    return b.flat.zip(b.flat, name=b.label)


@unit
def item_of(b: Bench) -> Any:
    return b.flat.zip(b.flat).item_of(1, name=b.label)


@unit
def bufferize(b: Bench) -> Any:
    return b.nested.bufferize(name=b.label).streamify()


@unit
def streamify(b: Bench) -> Any:
    return b.nested.bufferize().streamify(name=b.label)


@unit
def partition(b: Bench) -> Any:
    return b.flat.partition(b.play(Selector(2), [b.values]), targets=2, name=b.label)


@unit
def reassemble(b: Bench) -> Any:
    halves = [b.play(b.tile, [b.values // 2], 1) for _ in range(2)]
    return b.graph.reassemble(halves, b.play(Selector(2), [b.values]), name=b.label)


@unit
def eager_merge(b: Bench) -> Any:
    return b.graph.eager_merge([b.play(b.tile, [b.values // 2], 1) for _ in range(2)], name=b.label)


@unit
def linear_off_chip_load(b: Bench) -> Any:
    return b.graph.load(b.tensor("x"), tile=b.tile.shape, name=b.label)


@unit
def linear_off_chip_store(b: Bench) -> Any:
    b.flat.store(b.label)


@unit
def random_off_chip_load(b: Bench) -> Any:
    return b.addresses().load_random(b.tensor("x"), tile=b.tile.shape, name=b.label)


@unit
def random_off_chip_store(b: Bench) -> Any:
    return b.flat.store_random(b.tensor("x"), b.addresses(), name=b.label)
