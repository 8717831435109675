"""Errors of sizes that do not divide what they should, before any operator is placed."""

from __future__ import annotations

from step.errors import InputError


def check_divides(what: str, size: int, whole: str, extent: int) -> None:
    """Raise `InputError` unless ``size``, which is ``what``, divides ``extent``, which is ``whole``."""
    if size < 1 or extent % size:
        raise InputError(f"{what} must divide {whole} = {extent}, but {size} does not")
