"""Data as users give it, made into what nobody else can change: NumPy's arrays, tuples and numbers.

What has ``__array__``, ``__array_interface__`` or ``__dlpack__`` is the array that it gives, wherever it stands: so are
tensors of other libraries, columns and tables. Arrays are copied, unless nobody can write them: one that is read-only
all the way down, as those of JAX and those that are mapped from a file to be read, is taken as it is. Sequences become
tuples. What can be read only once, what has no order, and what is masked is refused.
"""

from __future__ import annotations

import array
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from step.errors import InputError, expect
from step.language.loops import RegularStream
from step.language.tokens import Token


@dataclass(frozen=True, eq=False)
class Spelled:
    """Input data that says how it is spelled, with its ``content``."""

    content: Any


class Bits(Spelled):
    """See `bits`."""


class Masks(Spelled):
    """See `masks`."""


def bits(patterns: Any) -> Bits:
    """Input data for a tensor, or for a stream of tiles, given as bit patterns.

    ``patterns``: integers >= 0 as wide as the scalar format, in the shape that the values would have: 0x3F80 is the
    BF16 number 1. A run raises `InputError` for others.

    >>> step.run(program, "interpret", inputs={"x": step.bits([[0x3F800000, 0, 0]])}).outputs["y"].numpy().item()
    1.0
    """
    return Bits(patterns)


def masks(values: Any) -> Masks:
    """Input data for a stream of selectors, given as masks: integers in which bit i stands for target i.

    ``values``: an array ``[*dims]``, or nested sequences as deep. A run raises `InputError` for others.

    >>> routes = Graph("routes")
    >>> routes.selectors("which", 3, [2]).sink("y")
    >>> run = step.run(routes, "interpret", inputs={"which": step.masks([0b001, 0b110])})
    >>> run.outputs["y"].numpy().astype(int).tolist()
    [[1, 0, 0], [0, 1, 1]]
    """
    return Masks(values)


DEEPEST = 64
"""Levels of nested sequences: more are a list that is in itself."""

LONGEST = 60
"""Characters of a value in a message."""

_NUMBERS = {int, float, bool}
_TEXTS = (str, bytes, bytearray)
_ARRAYS = ("__array__", "__array_interface__", "__dlpack__")

Path = tuple[int, ...]


def place(what: str, path: Path) -> str:
    """``input 'x' at [0, 2]``."""
    return f"{what} at {list(path)}" if path else what


def shown(value: Any) -> str:
    """``value`` in a message: sequences as lists, and what is long by its type."""
    plain = repr(_listed(value))
    return plain if len(plain) <= LONGEST else f"a {type(value).__name__}"


def _listed(value: Any) -> Any:
    if type(value) is tuple:
        return [_listed(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


class Data(UserDict[str, Any]):
    """Data by name, which only changes where a name gets other data; see above what that becomes.

    ``what`` is said of it in errors. Raises `InputError`.
    """

    def __init__(self, given: Mapping[str, Any], what: str = "input") -> None:
        self.what = what
        super().__init__()
        if isinstance(given, Data):
            self.data.update(given.data)
        else:
            self.update(given)

    @classmethod
    def of(cls, settled: Mapping[str, Any]) -> Data:
        """Data that is settled already: no one can change it."""
        made = cls({})
        made.data.update(settled)
        return made

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = settled(value, f"{self.what} {name!r}")


def settled(value: Any, what: str, path: Path = ()) -> Any:
    """``value`` as nobody else can change it; raises `InputError`, about the place ``path`` in ``what``."""
    if type(value) in _NUMBERS or isinstance(value, np.generic):
        return value
    if isinstance(value, Token):
        return value._replace(value=settled(value.value, what, path))
    if isinstance(value, RegularStream):
        return value
    if isinstance(value, Spelled):
        return type(value)(_spelled(value, what, path))
    if isinstance(value, np.ndarray):
        return _array(value, what, path)
    if _gives_array(value):
        return _array(_read(value, what, path), what, path)
    if isinstance(value, Sequence) and not isinstance(value, _TEXTS):
        return _sequence(value, what, path)
    if isinstance(value, Iterator):
        raise InputError(f"{place(what, path)} is a {type(value).__name__}, which can be read only once: give a list")
    if isinstance(value, Set):
        raise InputError(f"{place(what, path)} is a {type(value).__name__}, which has no order: give a list")
    return value


def _sequence(values: Sequence[Any], what: str, path: Path) -> tuple[Any, ...]:
    expect(len(path) != DEEPEST, f"{what} is nested more than {DEEPEST} levels deep", InputError)
    if set(map(type, values)) <= _NUMBERS:
        return tuple(values)
    return tuple(settled(each, what, (*path, position)) for position, each in enumerate(values))


def _spelled(value: Spelled, what: str, path: Path) -> Any:
    if isinstance(value.content, Spelled):
        names = [type(each).__name__.lower() for each in (value, value.content)]
        raise InputError(f"{place(what, path)} is {names[0]}({names[1]}(...)), but can be only one of them")
    return settled(value.content, what, path)


# -- arrays ---------------------------------------------------------------------------------------------------------


def _gives_array(value: Any) -> bool:
    if isinstance(value, type):
        return False
    return isinstance(value, array.array | memoryview) or any(hasattr(value, name) for name in _ARRAYS)


def _read(value: Any, what: str, path: Path) -> np.ndarray:
    """The array that an object of another library gives."""
    if getattr(value, "requires_grad", False) is True:
        raise InputError(f"{place(what, path)} is a tensor that requires a gradient: give tensor.detach()")
    by_dlpack = not isinstance(value, array.array | memoryview) and not any(
        hasattr(value, each) for each in _ARRAYS[:2]
    )
    try:
        return np.from_dlpack(value) if by_dlpack else np.asanyarray(value)
    except Exception as error:  # whatever others' code may raise
        advice = "; give tensor.float()" if "BFloat16" in str(error) else ""
        raise InputError(
            f"{place(what, path)} can not be read as an array: {type(error).__name__}: {error}{advice}"
        ) from error


def _array(value: np.ndarray, what: str, path: Path) -> Any:
    """``value``, of which nothing is masked, as a plain array that nobody can write; of objects what these become."""
    if isinstance(value, np.ma.MaskedArray) and value.dtype.names is None and np.ma.is_masked(value):
        position = tuple(int(each) for each in np.argwhere(np.ma.getmaskarray(np.ma.atleast_1d(value)))[0])
        masked = place(what, path + position[: value.ndim])
        raise InputError(f"{masked} is masked, and no number stands for that: give array.filled(NUMBER)")
    plain = np.asarray(value)
    if plain.dtype == object:
        return settled(plain.tolist(), what, path) if plain.ndim else plain
    return _copied(plain) if _writable(plain) else plain


def _writable(value: np.ndarray) -> bool:
    """Whether anybody can change the content, be it through an array that this is a part of."""
    each: Any = value
    while isinstance(each, np.ndarray):
        if each.flags.writeable:
            return True
        each = each.base
    return False


def _copied(value: np.ndarray) -> np.ndarray:
    """A copy that nobody can write; what is repeated without memory of its own stays so."""
    once = tuple(slice(None) if stride else slice(1) for stride in value.strides)
    copy = np.array(value[once])
    copy.flags.writeable = False
    return copy if copy.shape == value.shape else np.broadcast_to(copy, value.shape)
