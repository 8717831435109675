"""Bit patterns that make floating point fail: specials, limits, ties and cancellation, beside random ones."""

from __future__ import annotations

import numpy as np

from step.language.dtypes import BOOL, DType
from step.language.types import Tile

EXPONENTS_32 = [0, 1, 2, 63, 64, 104, 126, 127, 128, 150, 190, 253, 254, 255]
FRACTIONS_32 = [0, 1, 2, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF, 0x008000, 0x018000, 0x017FFF, 0x7F8000]


def corners() -> np.ndarray:
    """FP32 patterns: every pair of an extreme exponent and an extreme fraction, with both signs."""
    exponents, fractions = np.array(EXPONENTS_32, np.uint32), np.array(FRACTIONS_32, np.uint32)
    both = (exponents[:, None] << 23 | fractions).ravel()
    return np.concatenate([both, both | np.uint32(1 << 31)])


def fp32(random: np.random.Generator, count: int) -> np.ndarray:
    """FP32 patterns: half random, half corners."""
    anything = random.integers(0, 1 << 32, count, dtype=np.uint32)
    return np.where(random.random(count) < 0.5, anything, random.choice(corners(), count))


def near(random: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Patterns that cancel with ``values``, or differ in the exponent by little, or have nothing to do with them."""
    count = len(values)
    anything = fp32(random, count)
    cancelling = (values ^ np.uint32(1 << 31)) + random.integers(0, 5, count).astype(np.uint32) - np.uint32(2)
    exponents = np.clip((values >> 23 & 255).astype(int) + random.integers(-30, 31, count), 0, 255).astype(np.uint32)
    aligned = anything & np.uint32(0x807FFFFF) | exponents << 23
    return np.choose(random.integers(0, 3, count), [anything, cancelling, aligned])


def tile(random: np.random.Generator, element: Tile, wild: float = 0.1) -> np.ndarray:
    """A value of ``element``: ordinary numbers, and a share of ``wild`` that is anything."""
    dtype: DType = element.dtype
    if dtype is BOOL:
        return random.random(element.shape) < 0.5
    ordinary = (random.standard_normal(element.shape) * 4).astype(dtype.numpy)
    patterns = fp32(random, ordinary.size).reshape(element.shape)
    anything = (patterns >> (32 - dtype.bits)).astype(f"u{dtype.bits // 8}").view(dtype.numpy)
    return np.where(random.random(element.shape) < wild, anything, ordinary)
