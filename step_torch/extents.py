"""Extents of tensors as the schema writes them: integers, or expressions of symbols in the notation of SymPy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod
from operator import floordiv, mod
from typing import Any

from step.errors import FormatError

_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "Integer": int,
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: prod(factors),
    **{"Max": max, "Min": min, "Pow": pow, "FloorDiv": floordiv, "Mod": mod},
}


def extent_of(size: Mapping[str, Any], symbols: Mapping[str, int]) -> int | str:
    """The extent that ``size`` is, with the values of ``symbols``; the name of a symbol that has none."""
    if "as_int" in size:
        return int(size["as_int"])
    text = size["as_expr"]["expr_str"]
    try:
        return _value(ast.parse(text, mode="eval").body, symbols)
    except KeyError as unknown:
        return str(unknown.args[0])
    except (SyntaxError, ValueError):
        raise FormatError(f"{text!r} is no extent of a tensor") from None


def solved(size: Mapping[str, Any], extent: int) -> tuple[str, int | None]:
    """The symbol of ``size``, if it has just one, and its value where ``size`` is ``extent``, if there is one.

    An extent is a symbol times a number, plus another: torch has no others for axes of inputs.
    """
    symbol = extent_of(size, {})
    if not isinstance(symbol, str):
        return "", None
    at = [extent_of(size, {symbol: value}) for value in (0, 1)]
    if not all(isinstance(each, int) for each in at) or at[0] == at[1]:
        return symbol, None
    value, rest = divmod(extent - int(at[0]), int(at[1]) - int(at[0]))
    return symbol, None if rest else value


def _value(tree: ast.expr, symbols: Mapping[str, int]) -> int:
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, symbols)
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return symbols[name]
        case ast.Call(func=ast.Name(id=function), args=args) if function in _FUNCTIONS:
            return _FUNCTIONS[function](*(_value(each, symbols) for each in args))
    raise ValueError(ast.dump(tree))
