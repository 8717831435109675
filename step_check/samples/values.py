"""Random elements, shapes and nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from step.language.draft import Nested
from step.language.dtypes import BF16, BOOL, FP32, INT8, INT32, UINT32, DType
from step.language.types import ElementType, Selector, Tile, Tuple

SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 3e38, 1e-39]

DTYPES = [BF16, BF16, BF16, BF16, FP32, FP32, INT8, INT32, UINT32, BOOL]


def random_element(random: Random) -> ElementType:
    """A type of element: mostly small tiles, some selectors and tuples."""
    kind = random.random()
    if kind < 0.06:
        return Selector(random.randint(1, 4))
    if kind < 0.12:
        first, others = random_tile(random), list[ElementType]([random_tile(random), Selector(2)])
        return Tuple((first, random.choice(others)))
    return random_tile(random)


def random_tile(random: Random, dtypes: Sequence[DType] = DTYPES) -> Tile:
    """A small tile of one of ``dtypes``."""
    return Tile(random.choice(dtypes), random.choice([1, 1, 2, 3, 4]), random.choice([1, 2, 3, 4]))


def random_value(random: Random, element: ElementType) -> Any:
    """A value of ``element``."""
    match element:
        case Selector():
            return random.randrange(1 << element.targets)
        case Tuple():
            return tuple(random_value(random, each) for each in element.items)
    assert isinstance(element, Tile)
    scalars = [_scalar(random, element.dtype) for _ in range(int(element.elements))]
    return np.array(scalars).astype(element.dtype.numpy).reshape(element.shape)


def _scalar(random: Random, dtype: DType) -> float:
    if dtype.is_float:
        return random.choice(SPECIAL) if random.random() < 0.02 else random.randint(-32, 32) / 8
    return random.randint(0, 1) if dtype is BOOL else random.randint(0 if dtype is UINT32 else -100, 100)


def random_nested(random: Random, extents: Sequence[int | None], element: ElementType) -> Nested:
    """Nested lists of values; ``extents`` are those of the dimensions, outermost first, None for any."""
    first, *inner = extents
    count = random.choice([0, 0, 1, 1, 2, 3]) if first is None else first
    return [random_nested(random, inner, element) if inner else random_value(random, element) for _ in range(count)]


def grouped(random: Random, entries: Nested, rank: int) -> Nested:
    """``entries`` in order, as nested lists of ``rank`` + 1 levels with empties between them."""
    if rank == 0:
        return entries
    parts: list[Nested] = [[]] if entries or random.random() < 0.5 else []
    for entry in entries:
        while random.random() < 0.4:
            parts.append([])
        parts[-1].append(entry)
    while random.random() < 0.3:
        parts.append([])
    return [grouped(random, part, rank - 1) for part in parts]


def size(part: Any, rank: int) -> int:
    """Elements of a tensor of ``rank``, and its tensors without elements: its tokens."""
    return 1 if rank == 0 or not part else sum(size(each, rank - 1) for each in part)


def seen(part: Any, levels: int) -> set[int]:
    """The lengths of all lists ``levels`` levels deep."""
    return {len(part)} if levels == 0 else set().union(*(seen(each, levels - 1) for each in part))


def alike(one: Any, other: Any, levels: int) -> bool:
    """Whether two nested lists have the same shape, ``levels`` levels deep."""
    return levels == 0 or (
        len(one) == len(other) and all(alike(*pair, levels - 1) for pair in zip(one, other, strict=True))
    )
