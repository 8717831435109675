"""Errors of sizes that do not divide what they should, before any operator is placed."""

from __future__ import annotations

from numbers import Integral

from step.errors import InputError


def check_divides(what: str, size: int, whole: str, extent: int) -> None:
    """Raise `InputError` unless ``size``, which is ``what``, divides ``extent``, which is ``whole`` and at least 1."""
    for name, value in ((what, size), (whole, extent)):
        if not isinstance(value, Integral):
            raise InputError(f"{name} must be an integer, not {value!r}")
    if extent < 1:
        raise InputError(f"{whole} must be at least 1, not {extent}")
    if size < 1 or extent % size:
        raise InputError(f"{what} must divide {whole} = {extent}, but {size} does not")
