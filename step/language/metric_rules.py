"""Terms of the metrics that several operators share."""

from __future__ import annotations

import sympy

from step.language.function import Function
from step.language.operator import Placed
from step.language.types import Tile


def matmul_operands(function: Function, node: Placed) -> sympy.Expr:
    """On-chip bytes of a matmul's operands: 16 rows of the first one and the whole second one; else 0.

    Source: the paper's on-chip equation for Map and Accum, 16 * in_tile_cols * |elem| + |weight tile|.
    """
    if function.name != "matmul":
        return sympy.Integer(0)
    first, second = node.input_types[0].element, node.input_types[1].element
    assert isinstance(first, Tile)
    return 16 * first.cols.extent * first.dtype.bytes + second.bytes
