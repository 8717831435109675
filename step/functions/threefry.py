"""Random numbers that are functions of a key and a counter."""

from __future__ import annotations

from random import Random

import numpy as np

from step.language.dtypes import UINT32
from step.language.function import MapFunction, Sample, mismatch
from step.language.scalars import alike, broadcast
from step.language.types import ElementType, Tile

ROUNDS, BETWEEN = 20, 4
"""Rounds of mixing, and those between two additions of the key."""

ROTATIONS = 13, 15, 26, 6, 17, 29, 16, 24
"""Bits by which the second word turns, round by round."""

PARITY = 0x1BD11BDA
"""The third word of a key is the other ones and this, by exclusive or."""


def threefry(key: tuple[np.ndarray, np.ndarray], counter: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """Threefry-2x32 with 20 rounds of two words of key and counter, as Salmon et al. (SC 2011) have it."""
    keys = *key, key[0] ^ key[1] ^ np.uint32(PARITY)
    x, y = (each + word for each, word in zip(counter, keys, strict=False))
    for number in range(1, ROUNDS + 1):
        turn = ROTATIONS[(number - 1) % len(ROTATIONS)]
        x = x + y
        y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
        if number % BETWEEN == 0:
            at = number // BETWEEN
            x, y = x + keys[at % 3], y + keys[(at + 1) % 3] + np.uint32(at)
    return [x, y]


class Threefry(MapFunction):
    """Random number of 32 bits for every ``(key, counter)``, the same wherever it is computed.

    It is the first word of Threefry-2x32 with 20 rounds, whose second words of key and counter are 0. Operands are two
    tiles ``[rows, cols]`` of UINT32, of which an extent of 1 is repeated to fit. No FLOPs.

    >>> graph = Graph()
    >>> key, counter = (graph.source(name, Tile(UINT32), [2]) for name in ("key", "counter"))
    >>> key.map(Threefry(), counter).sink("y")
    >>> step.run(graph, "interpret", inputs={"key": [0, 7], "counter": [0, 1]}).outputs["y"].numpy().ravel().tolist()
    [1797259609, 2964889903]
    """

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        if not isinstance(element, Tile) or element.dtype is not UINT32:
            element = Tile(UINT32, random.randint(1, 3), random.randint(1, 3))
        return Sample(cls(), (element, alike(random, element, ())))

    def result_type(self, *inputs: ElementType) -> Tile:
        if len(inputs) != 2 or any(not isinstance(each, Tile) or each.dtype is not UINT32 for each in inputs):
            raise mismatch(self, f"2 tiles of {UINT32}", inputs)
        return Tile(UINT32, *broadcast(self, inputs))

    def apply(self, key: np.ndarray, counter: np.ndarray) -> np.ndarray:
        zero = np.zeros((), np.uint32)
        key, counter = np.broadcast_arrays(key, counter)
        return threefry((key, zero), (counter, zero))[0]
