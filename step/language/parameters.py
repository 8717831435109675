"""Parameters of operators and functions: the fields of their dataclasses, which have the types that they declare."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from step.errors import TypeMismatch
from step.language.dtypes import DType, as_dtype

_WORDS = {int: "an integer", float: "a number", bool: "True or False", str: "a text", NoneType: "None"}


def settle_parameters(owner: Any) -> None:
    """Make the parameters of the frozen dataclass ``owner`` what they are declared as, from what stands for that.

    A number of NumPy stands for itself, and the name of a scalar format for the format. Raises `TypeMismatch` for what
    does not fit, and `FormatError` for names that no format has.
    """
    declared: Any = type(owner)
    for name, hint in parameter_types(declared).items():
        value = plain(getattr(owner, name))
        if isinstance(value, str) and DType in (hint, *get_args(hint)):
            value = as_dtype(value)
        if not fits(value, hint):
            raise TypeMismatch(
                f"{getattr(owner, 'name', declared.__name__)} needs {name} to be {_described(hint)}, not {value!r}"
            )
        object.__setattr__(owner, name, value)


@cache
def parameter_types(owner: Any) -> dict[str, Any]:
    """The declared type of every parameter of the class ``owner``."""
    hints = get_type_hints(owner)
    return {each.name: hints[each.name] for each in fields(owner)}


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is of the type that a parameter was declared with."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        wanted = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return len(value) == len(wanted) and all(fits(*pair) for pair in zip(value, wanted, strict=True))
    if hint in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if hint is float else origin or hint)


def plain(value: Any) -> Any:
    """``value`` with Python's numbers instead of NumPy's."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _described(hint: Any) -> str:
    """What a value of this type is, in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(_described, arguments))
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin is tuple and arguments[-1] is Ellipsis:
        return f"a tuple, each {_described(arguments[0])}"
    if origin is tuple:
        return f"({', '.join(map(_described, arguments))})"
    return _WORDS.get(hint) or f"a {(origin or hint).__name__}"
