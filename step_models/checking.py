"""What is given to a workload is checked where it comes in."""

from __future__ import annotations

from functools import partial

from step.errors import InputError
from step.language.arguments import checked

workload = partial(checked, refused=InputError)
"""Decorates a function whose arguments must have the types that its signature says; arrays it checks itself."""
