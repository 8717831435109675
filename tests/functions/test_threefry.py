"""Random numbers: those that the authors of Threefry-2x32 have published."""

from __future__ import annotations

import numpy as np
from cases import cases

from step.functions.threefry import threefry

ALL = (2**32 - 1,) * 2


@cases(
    ((0, 0), (0, 0), [0x6B200159, 0x99BA4EFE]),
    (ALL, ALL, [0x1CB996FC, 0xBB002BE7]),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), [0xC4923A9C, 0x483DF7A0]),
)
def test_known_answers(key: tuple[int, int], counter: tuple[int, int], answer: list[int]) -> None:
    (k0, k1), (c0, c1) = np.array([key, counter], np.uint32)[..., None]
    assert [each.item() for each in threefry((k0, k1), (c0, c1))] == answer
