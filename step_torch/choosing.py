"""Tiles of weights that an import chooses by itself, by a formula of what sums and memory can do at best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil, log2, prod

import numpy as np

from step import FabricConfig
from step_torch.nodes import Nodes
from step_torch.tiling import Tiling

NARROW, WIDEST, STEP, TERMS = 128, 4096, 64, 16
"""Weights up to so many columns are narrow; the most columns of a tile that is chosen, and
the most rows; terms of a fused sum that are added at once."""

WEIGHTS = {
    "aten.linear.default": (0, 1), "aten.addmm.default": (1, 2), "aten.mm.default": (0, 1),
    "step.quantized_linear.default": (0, 1, 2),
}  # fmt: skip
"""Which arguments of a product its rows, its weight and the scales of that are."""


@dataclass(frozen=True)
class WeightProduct:
    """Product of so many ``rows`` of the value ``x`` with a weight [``depth``, ``columns``]."""

    x: str
    rows: int
    depth: int
    columns: int
    bytes: int
    """Bytes of the weight, with its scales."""
    whole: bool = False
    """Whether it is of integers, by groups of its depth."""


def products(nodes: Nodes, weights: Mapping[str, np.ndarray]) -> list[WeightProduct]:
    """All products with a parameter of the module."""
    found = list[WeightProduct]()
    for node in nodes.nodes:
        x, *own = (getattr(node.args[at], "name", "") for at in WEIGHTS.get(node.op, (0,) * bool(node.args)))
        if own and all(each in nodes.parameters for each in own):
            (*rows, columns), depth = nodes.metas[node.name].shape, nodes.metas[x].shape[-1]
            size = sum(weights[nodes.parameters[each]].nbytes for each in own)
            found.append(WeightProduct(x, prod(rows), depth, columns, size, len(own) > 1))
    return found


def chosen(tiling: Tiling, given: Sequence[WeightProduct], fabric: FabricConfig) -> tuple[Tiling, str]:
    """``tiling`` with all that it leaves open, and what was chosen, and why.

    A single row reads each weight for itself. Tiles then have all columns, in steps of the depth: so most sums go on
    side by side, as each waits for its last addition. Loads that are slower than memory are several. Units of integers
    have no more columns than all of them need to multiply what memory brings.
    """
    widest = max((each.columns for each in given), default=0)
    if tiling.columns is not None or widest <= NARROW or any(each.rows > 1 for each in given):
        return tiling, ""
    columns = min(widest, WIDEST)
    loads = fabric.memory.bandwidth / _of_one(fabric)
    units = max(1, int(loads))
    if any(each.whole for each in given):
        comes = fabric.memory.bandwidth * max(each.depth * each.columns / each.bytes for each in given if each.whole)
        units = max(ceil(loads), ceil(comes / columns))
        columns = min(columns, 1 << ceil(log2(comes / units)))
    units = tiling.side_by_side if tiling.side_by_side > 1 else units
    found = replace(tiling, columns=columns, depth=tiling.depth or STEP, side_by_side=units)
    least = sum(each.bytes for each in given) / fabric.memory.bandwidth
    times = _cycles(found, given, fabric) / least
    fused = _cycles(replace(found, sum="fused"), given, fabric) / least
    summed = [each for each in given if not each.whole]
    waits = fabric.stages * sum(max(each.depth for each in same) for same in _at_once(summed)) / least
    return found, (
        f"a row takes at least {times:.1f} times the {least:,.0f} cycles in which memory reads all weights"
        + f": additions in order, one behind the other, take {waits:.1f} times; {fused:.1f} times with sum='fused'"
        * (tiling.sum == "ordered" and len(summed) > 0)
    )


def _of_one(fabric: FabricConfig) -> int:
    """Bytes a cycle of one load."""
    return min(fabric.memory.beat_bytes, fabric.link_bytes)


def _at_once(given: Sequence[WeightProduct]) -> list[list[WeightProduct]]:
    """Products of one value."""
    return [list(group) for _, group in groupby(given, key=lambda each: each.x)]


def _cycles(tiling: Tiling, given: Sequence[WeightProduct], fabric: FabricConfig) -> float:
    """The fewest cycles of all products, of which those of one value go on at once, and others after each other."""
    total = 0.0
    for same in _at_once(given):
        loads = max(each.bytes / tiling.side_by_side for each in same) / _of_one(fabric)
        sums = (_cycles_of_sums(tiling, each, fabric) for each in same)
        total += max(sum(each.bytes for each in same) / fabric.memory.bandwidth, loads, *sums)
    return total


def _cycles_of_sums(tiling: Tiling, each: WeightProduct, fabric: FabricConfig) -> float:
    """The fewest cycles of the sums of one product."""
    if each.whole:
        return each.depth * each.columns / tiling.most_columns / tiling.side_by_side
    turn = fabric.stages if tiling.sum == "ordered" else 1 / TERMS
    lanes = min(each.columns, tiling.most_columns) / tiling.side_by_side / fabric.matmul_lanes
    return each.depth * -(-each.columns // tiling.most_columns) * max(turn, lanes)
