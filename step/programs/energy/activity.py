"""Activity of a program: operations by format, and bits that are read, written and sent, as expressions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import sympy

from step.language.dtypes import FP32, INT32, DType
from step.language.function import Function
from step.language.graph import Node
from step.language.types import ElementType, Tile, leaves
from step.lowering.memory import scratchpads
from step.lowering.netlist import Netlist

Activity = Mapping[str, sympy.Expr]
"""How often there is something of what `step.programs.energy.figures.figures` has, by name."""

ADD, MULTIPLY, COMPARE = "add", "multiply", "compare"

TABULATED = {"int32_multiply": 2, "int32_add": 3, "block_ram": 48}
"""A function from a table, for a scalar: the way to the place in it, an entry, and the line between two of them."""

SIMPLE: Mapping[str, Mapping[str, float]] = {
    **{name: {ADD: 1} for name in ("add", "sub", "row_sum")},
    **{name: {MULTIPLY: 1} for name in ("mul", "scale", "dequantize")},
    **{name: {MULTIPLY: 0.5, ADD: 0.5} for name in ("mul_add", "matmul")},
    **{name: {COMPARE: 1} for name in ("max", "min", "row_max", "arg_max", "max_index", "clamp", "relu", "compare")},
    **{name: {COMPARE: 1} for name in ("abs", "round")},  # of the bits of a number, as an integer
}
"""For a FLOP of the function."""

TABLES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("exp", "rsqrt", "sqrt", "reciprocal"), (1, 0)),
    **dict.fromkeys(("div", "gelu", "tanh", "erf", "log"), (1, 1)),
    "sigmoid": (2, 0),
    **dict.fromkeys(("silu", "sin", "cos"), (2, 1)),
}
"""For a scalar: how many tables are read, and how many products of FP32 follow."""


def activity(netlist: Netlist) -> Activity:
    """The activity of ``netlist`` in the symbols of its program.

    Counts of operations are those that `step.metrics` has as FLOPs; values are sent and kept in full. Headers of tokens
    are left out.
    """
    found: dict[str, list[sympy.Expr]] = defaultdict(list)
    sent: dict[str, dict[sympy.Expr, sympy.Expr]] = defaultdict(lambda: defaultdict(lambda: sympy.Integer(0)))
    for node in netlist.units:
        function = node.operator.function
        if function is not None:
            for name, amount in _operations(node, function).items():
                found[name].append(amount)
        found["off_chip"].append(8 * node.operator.off_chip_bytes(node))
    for channel in netlist.channels:
        if channel.element is None:
            continue
        count, bits = channel.type.count, bits_of(channel.element)
        sent["link"][count] += bits
        sent["block_ram" if netlist.is_deep(channel) else "lut_ram"][count] += 2 * bits  # written, and read
    for pad in scratchpads(netlist):
        for share in pad.shares:
            written, read = share.filler.input_types[0], share.reader.output_types[0]
            found["scratchpad"] += [each.count * bits_of(each.element) for each in (written, read)]
    for name, bits_by_count in sent.items():  # many channels send as much: few products of expressions
        found[name] += [count * bits for count, bits in bits_by_count.items()]
    sums = {name: sympy.Add(*amounts) for name, amounts in found.items()}
    return {name: amount for name, amount in sums.items() if amount != 0}


def bits_of(element: ElementType) -> sympy.Expr:
    """Bits of a value, of tiles of dynamic size with the rows that they have."""
    return sympy.Add(
        *(each.elements * each.dtype.bits if isinstance(each, Tile) else each.bits for each in leaves(element))
    )


def _operations(node: Node, function: Function) -> dict[str, sympy.Expr]:
    """Operations of all firings of ``node``, and what a product of matrices keeps meanwhile."""
    flops, formats = node.operator.flops(node), [each.element for each in node.input_types]
    dtypes = [each.dtype for each in formats if isinstance(each, Tile)]
    if not dtypes or flops == 0:
        return {}
    if function.name in TABLES:
        tables, products = TABLES[function.name]
        scalars = flops / getattr(function, "cost", 1)
        found = {name: tables * amount * scalars for name, amount in TABULATED.items()}
        return {**found, "fp32_multiply": products * scalars}
    if function.name == "dequantize":  # it multiplies in the format of its scales, INT32 in FP32
        dtypes = [FP32] if dtypes[0] is INT32 else dtypes[1:]
    found = defaultdict(lambda: sympy.Integer(0))
    for operation, share in SIMPLE.get(function.name, {}).items():
        found[_named(operation, dtypes)] += sympy.Rational(share) * flops
    if function.name == "matmul":
        products = flops / 2
        found["lut_ram"] += products * (dtypes[0].bits + 2 * 32)  # an operand, and a sum that is read and written
    return dict(found)


def _named(operation: str, dtypes: list[DType]) -> str:
    """Figure of an operation on scalars of ``dtypes``: numbers are added in FP32, or as integers of 32 bits."""
    first = dtypes[0]
    if operation == COMPARE or (operation == ADD and not first.is_float):
        return "int32_add"
    if operation == ADD:
        return "fp32_add"
    if not first.is_float:
        return "int8_multiply" if first.bits == 8 else "int32_multiply"
    return "fp32_multiply" if any(each.bits == 32 for each in dtypes[:2]) else "bf16_multiply"
