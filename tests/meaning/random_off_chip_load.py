"""RandomOffChipLoad: a tile of the tensor in place of every address."""

from __future__ import annotations

from meaning.given import Given
from meaning.linear_off_chip_load import tile_of
from meaning.nested import Nested, inside
from step.ops.random_off_chip_load import RandomOffChipLoad


def meaning(operator: RandomOffChipLoad, given: Given, addresses: Nested) -> list[Nested]:
    tensor = given.tensors[operator.tensor.name]
    levels = given.input_types[0].rank + 1
    return [inside(levels, lambda address: tile_of(tensor, *operator.tile, int(address.item())).copy(), addresses)]
