"""Errors of sizes that do not divide what they should, before any operator is placed."""

from __future__ import annotations

from numbers import Integral

from step_models.checking import require


def check_divides(what: str, size: int, whole: str, extent: int) -> None:
    """Raise `InputError` unless ``size``, which is ``what``, divides ``extent``, which is ``whole`` and at least 1."""
    for name, value in ((what, size), (whole, extent)):
        require(isinstance(value, Integral), f"{name} must be an integer, not {value!r}")
    require(extent >= 1, f"{whole} must be at least 1, not {extent}")
    require(size >= 1 and not extent % size, f"{what} must divide {whole} = {extent}, but {size} does not")
