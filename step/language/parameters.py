"""Checks of arguments by the types that they are declared with: of operators, functions, calls and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, fields
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from step.errors import ProgramError, TypeMismatch
from step.language.dtypes import DType, as_dtype

_WORDS = {
    int: "an integer", float: "a number", bool: "True or False", str: "a text", NoneType: "None",
    Callable: "a function", Mapping: "a dictionary, by name", dict: "a dictionary, by name",
}  # fmt: skip


@dataclass(frozen=True)
class Within:
    """Limits of a number: ``Annotated[int, Within(1)]``; ``power``: it is a power of two.

    Each unit of it is so many ``bits`` of a memory, of a wire or of results a cycle, which errors tell.
    """

    least: int
    most: float = 1 << 62
    bits: int = 0
    power: bool = False

    def flaw(self, value: Any) -> str:
        """Condition that ``value``, which is large enough, does not meet; empty if it meets all."""
        if value > self.most:
            cost = f", which is {value * self.bits:,} bits" if self.bits else ""
            return f"at most {self.most:,}, not {value:,}{cost}"
        return f"a power of two, not {value}" if self.power and value & (value - 1) else ""


Count = Annotated[int, Within(1)]


def settle_parameters(owner: Any) -> None:
    """Make the parameters of the frozen dataclass ``owner`` what they are declared as, from what stands for that.

    A number of NumPy stands for itself, and the name of a scalar format for the format. Raises what the class has as
    ``refused``, or `TypeMismatch`, for what does not fit, and `FormatError` for names that no format has. Where it has
    a ``group``, errors call parameters after that, such as ``memory.latency``, and not the class.
    """
    declared: Any = type(owner)
    group, refused = getattr(declared, "group", None), getattr(declared, "refused", TypeMismatch)
    called = declared.__dict__.get("name", declared.__name__) if group is None else ""
    for name, hint in parameter_types(declared).items():
        value = settled(getattr(owner, name), hint, f"{group or ''}{name}", refused, called)
        object.__setattr__(owner, name, value)


@cache
def parameter_types(owner: Any) -> dict[str, Any]:
    """The declared type of every parameter of the class ``owner``."""
    hints = get_type_hints(owner, include_extras=True)
    return {each.name: hints[each.name] for each in fields(owner)}


def settled(value: Any, hint: Any, name: str, refused: type[ProgramError] = TypeMismatch, owner: str = "") -> Any:
    """``value`` as the type ``hint``, which the parameter ``name``, of ``owner`` if it has one, was declared with.

    Raises ``refused`` for what does not fit, and `FormatError` for names that no format has.
    """
    value = plain(value)
    if isinstance(value, str) and DType in (hint, *get_args(hint)):
        value = as_dtype(value)
    if isinstance(value, int) and float in (hint, *get_args(hint)) and 2**53 < abs(value) < 2**1024:
        value = float(value)  # as NumPy has no integers of this size
    if fits(value, hint):
        return value
    if _is_list(value) and (each := _item_of(hint)) is not None:
        return tuple(settled(item, each, f"{name}[{place}]", refused, owner) for place, item in enumerate(value))
    must = f"{owner} needs {name} to be" if owner else f"{name} must be"
    if get_origin(hint) is Annotated and fits(value, get_args(hint)[0]) and value >= get_args(hint)[1].least:
        raise refused(f"{must} {get_args(hint)[1].flaw(value)}")
    meant = _meant(value, hint)
    hint_text = f"; did you mean {meant}?" if meant else ""
    text = f"the class {value.__name__}" if isinstance(value, type) else shown(value)
    raise refused(f"{must} {described(hint)}, not {text}{hint_text}")


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is of the type that a parameter was declared with."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Annotated:
        return fits(value, arguments[0]) and arguments[1].least <= value and not arguments[1].flaw(value)
    if origin is Literal:
        return any(value is each or (type(value) is type(each) and value == each) for each in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        wanted = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return len(value) == len(wanted) and all(fits(*pair) for pair in zip(value, wanted, strict=True))
    if origin in (Sequence, Iterable):
        return isinstance(value, Sequence) and _is_list(value) and all(fits(each, arguments[0]) for each in value)
    if hint in (int, float) and isinstance(value, bool):
        return False
    if hint is float:
        return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1024)
    return isinstance(value, origin or hint)


def plain(value: Any) -> Any:
    """``value`` with Python's numbers instead of NumPy's, of arrays without dimensions too."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if scalar else value


MOST_SHOWN = 120
"""Characters of a list in a message; of a longer one there are both ends."""


def shown(value: Any) -> str:
    """``value`` as a message shows it: a list in one line, which is not long."""
    if not _is_list(value):
        return repr(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:80].strip()} .. {text[-36:].strip()}"


def described(hint: Any) -> str:
    """A value of this type, in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(described, arguments))
    if origin is Annotated:
        return f"{described(arguments[0])} >= {arguments[1].least}"
    if origin is Literal:
        *others, last = (f'"{each}"' if isinstance(each, str) else repr(each) for each in arguments)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is tuple and arguments[-1] is Ellipsis:
        return f"a tuple, each {described(arguments[0])}"
    if origin is tuple:
        return f"({', '.join(map(described, arguments))})"
    if origin in (Sequence, Iterable):
        return "a list" if arguments[0] is Any else f"a list, each {described(arguments[0])}"
    name = (origin or hint).__name__
    return _WORDS.get(origin or hint) or f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _is_list(value: Any) -> bool:
    """Whether the items of ``value`` are in an order, and are not those of a text or of a stream."""
    lists = isinstance(value, (Sequence, Iterator, KeysView, ValuesView)) or hasattr(value, "__array__")
    lists = lists and getattr(value, "ndim", 1) != 0
    return lists and not isinstance(value, (str, bytes))


def _item_of(hint: Any) -> Any:
    """The type of the items where ``hint``, or a part of it, is a list; None elsewhere."""
    lists = [each for each in (hint, *get_args(hint)) if get_origin(each) in (Sequence, Iterable)]
    return get_args(lists[0])[0] if lists else None


def _meant(value: Any, hint: Any) -> str:
    """A hint at the value that was probably meant by ``value``."""
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    classes = tuple(each for each in choices if isinstance(each, type))
    if isinstance(value, type) and issubclass(value, classes):
        needed = [each.name for each in signature(value).parameters.values() if each.default is each.empty]
        return f"{value.__name__}({', '.join(needed)})"
    if any(each.__name__ == "Dim" for each in classes):  # an extent
        return f"graph.symbol({value!r})" if isinstance(value, str) and value.isidentifier() else ""
    item = _item_of(hint)
    if item is None or _is_list(value) or not any(each.__name__ == "Dim" for each in get_args(item)):
        return ""
    one = repr(value) if fits(value, item) else _meant(value, item)
    return f"[{one}]" if one else ""
