"""Errors of fused and ordered sums of products against float64.

    python -m benchmarks.fused_error [--seeds N]

Prints a row for each extent K and kind of operands: of each sum the largest absolute error and the root of the mean
squared one, in units of 2^-24 of the sum of absolute products. Operands are normally distributed in BF16; ``wide`` ones
are scaled by powers of two from 2^-8 to 2^8, and the products of ``positive`` ones all have the same sign.
"""

from __future__ import annotations

import argparse

import numpy as np

from step import BF16
from step.functions import Matmul

SIZE = 64
"""Rows and columns of a result."""

EXTENTS = (64, 256, 768)
KINDS = ("normal", "positive", "wide")
SUMS = {"ordered": Matmul(), **{f"{terms} terms": Matmul(sum="fused", terms=terms) for terms in (4, 8, 16, 32)}}


def operand(random: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    """An operand of a ``kind``."""
    values = random.standard_normal(shape)
    if kind == "positive":
        values = np.abs(values)
    if kind == "wide":
        values *= 2.0 ** random.integers(-8, 9, shape)
    return values.astype(BF16.numpy)


def errors(function: Matmul, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The error of each scalar of the product, in units of 2^-24 of the sum of absolute products."""
    exact = left.astype(np.float64) @ right.astype(np.float64)
    scale = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64))
    relative: np.ndarray = np.abs(function.apply(left, right) - exact) / scale * 2**24
    return relative


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="products of 64 x 64 for each row")
    seeds = parser.parse_args().seeds
    print(f"| operands | K | {' | '.join(SUMS)} |")
    print("|---|---|" + "---|" * len(SUMS))
    for kind in KINDS:
        for inner in EXTENTS:
            cells = []
            for function in SUMS.values():
                found = []
                for seed in range(seeds):
                    random = np.random.default_rng(seed)
                    left, right = operand(random, kind, SIZE, inner), operand(random, kind, inner, SIZE)
                    found.append(errors(function, left, right))
                all_of_it = np.concatenate(found)
                cells.append(f"{all_of_it.max():.2f}, {np.sqrt((all_of_it**2).mean()):.3f}")
            print(f"| {kind} | {inner} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
