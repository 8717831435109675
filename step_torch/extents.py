"""Extents of tensors as the schema writes them: integers, or expressions of symbols in the notation of SymPy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from step.errors import FormatError, InputError

_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "Integer": lambda value: value,
    "Add": lambda *terms: sum(terms),
    "Mul": lambda *factors: prod(factors),
    "Pow": lambda base, exponent: base**exponent,
    "Max": max,
    "Min": min,
    "FloorDiv": lambda left, right: left // right,
    "Mod": lambda left, right: left % right,
}


def extent_of(size: Mapping[str, Any], symbols: Mapping[str, int]) -> int:
    """The extent that ``size`` is, with the values of ``symbols``; raises `InputError` for a symbol without one."""
    if "as_int" in size:
        return int(size["as_int"])
    text = size["as_expr"]["expr_str"]
    try:
        return _value(ast.parse(text, mode="eval").body, symbols)
    except (SyntaxError, ValueError):
        raise FormatError(f"{text!r} is no extent of a tensor") from None


def symbol_of(size: Mapping[str, Any]) -> str | None:
    """The symbol that ``size`` is, if it is just one."""
    if "as_int" in size:
        return None
    match ast.parse(size["as_expr"]["expr_str"], mode="eval").body:
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return name
    return None


def _value(tree: ast.expr, symbols: Mapping[str, int]) -> int:
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, symbols)
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            if name not in symbols:
                raise InputError(f"the extent {name} depends on data: only those of inputs can be dynamic")
            return symbols[name]
        case ast.Call(func=ast.Name(id=function), args=args) if function in _FUNCTIONS:
            return _FUNCTIONS[function](*(_value(each, symbols) for each in args))
    raise ValueError(ast.dump(tree))
