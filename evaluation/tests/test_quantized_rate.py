"""Decoding with INT4 weights keeps up with the memory that they come from."""

from __future__ import annotations

import pytest

from benchmarks.quantized import program
from step import Simulator


@pytest.mark.parametrize(("regions", "lanes", "group"), [(32, 16, 64), (32, 16, 32), (8, 64, 128)])
def test_a_product_takes_as_long_as_its_weights(regions: int, lanes: int, group: int) -> None:
    read, alone = (
        Simulator(
            program(1024, 4096, group, 1, regions=regions, lanes=lanes, rows=False, reads=reads), values="control"
        ).run()
        for reads in (True, False)
    )
    assert alone.result.off_chip_bytes == read.result.off_chip_bytes == 1024 * 4096 // 2 + 1024 // group * 4096 * 2
    assert alone.cycles <= 1.1 * read.cycles
