"""Extents of dimensions as plain data: a number, a symbol, or a small tree of what is done with them.

``{"ceiling": [{"mul": [{"fraction": [1, 3]}, {"symbol": "N"}]}]}`` is ceiling(N/3). No text is ever evaluated, and
what has no tag here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from step.errors import FormatError, ProgramError, expect
from step.language.graph import SymbolInfo

_KNOWN = (sympy.Add, sympy.Mul, sympy.Min, sympy.Max, sympy.ceiling, sympy.floor)
_FUNCTIONS = {function.__name__.lower(): function for function in _KNOWN}
_OF_ONE = ("ceiling", "floor")


def encode_extent(extent: sympy.Expr) -> Any:
    """``extent`` as plain data; raises `ProgramError` for functions that have no tag. A power is a product."""
    if extent.is_Integer:
        return int(extent)
    if extent.is_Rational:
        return {"fraction": [int(extent.p), int(extent.q)]}
    if extent.is_Symbol:
        return {"symbol": str(extent)}
    if extent.is_Pow and extent.exp.is_Integer and extent.exp.is_positive:
        return {"mul": [encode_extent(extent.base)] * int(extent.exp)}
    for tag, function in _FUNCTIONS.items():
        if extent.func is function:
            return {tag: [encode_extent(each) for each in extent.args]}
    raise ProgramError(
        f"the extent {extent} can not be saved: it must be made of numbers and symbols by {', '.join(_FUNCTIONS)}"
    )


def decode_extent(tree: Any, symbols: Mapping[str, SymbolInfo]) -> sympy.Expr:
    """The opposite of `encode_extent`; raises `FormatError` for what it does not know, and for what is no extent."""
    extent = _decoded(tree, symbols)
    says = f"an extent must be an integer >= 0, which {extent} is not"
    expect(bool(extent.is_integer) and not extent.is_negative, says, FormatError)
    return extent


def _decoded(tree: Any, symbols: Mapping[str, SymbolInfo]) -> sympy.Expr:
    match tree:
        case bool():
            pass
        case int():
            return sympy.Integer(tree)
        case {"symbol": str(name), **rest} if not rest:
            expect(name in symbols, f"symbol {name!r} is used before it is declared", FormatError)
            return symbols[name].dim.extent
        case {"fraction": [int(top), int(bottom)], **rest} if not rest and bottom > 0:
            return sympy.Rational(top, bottom)
        case dict() if len(tree) == 1:
            ((tag, parts),) = tree.items()
            few = tag not in _OF_ONE or (isinstance(parts, list) and len(parts) == 1)
            if tag in _FUNCTIONS and isinstance(parts, list) and parts and few:
                return _FUNCTIONS[tag](*(_decoded(each, symbols) for each in parts))
    known = ", ".join(["symbol", "fraction", *_FUNCTIONS])
    raise FormatError(f"an extent must be an integer or an object of one of {known}, not {tree!r}")
