"""RandomOffChipStore: the tensor has the tiles at their addresses, each address is acknowledged."""

from __future__ import annotations

from typing import Any

import numpy as np

from meaning.given import Given
from meaning.linear_off_chip_load import tile_of
from meaning.nested import Nested, inside
from step.ops.random_off_chip_store import RandomOffChipStore


def meaning(operator: RandomOffChipStore, given: Given, addresses: Nested, data: Nested) -> list[Nested]:
    tensor = given.tensors[operator.tensor.name]

    def write(address: Any, tile: Any) -> np.ndarray:
        tile_of(tensor, *operator.tile, int(address.item()))[:] = tile
        return np.array([[True]])

    return [inside(given.input_types[0].rank + 1, write, addresses, data)]
