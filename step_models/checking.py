"""Checks of what a workload is given, where it comes in."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from step.errors import InputError, expect
from step.language.arguments import checked

require = partial(expect, error=InputError)
"""Raises `InputError` with a message unless a condition holds."""

workload = partial(checked, refused=InputError)
"""Decorates a function whose arguments must have the types that its signature says; arrays it checks itself."""


def as_array(values: Any, name: str) -> np.ndarray:
    """``values`` as an array; raises `InputError`, which calls them ``name``."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths, which is no array") from None
