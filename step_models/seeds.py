"""Seeds of samples: what NumPy's generators begin with."""

from __future__ import annotations

from step.errors import InputError


def check_seed(seed: int) -> None:
    """Raise `InputError` unless ``seed`` is an integer >= 0."""
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"the seed of a sample must be an integer >= 0, not {seed!r}")
