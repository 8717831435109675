"""Lowerings by the names of operators; files of `step_torch.lowerings` enter theirs with the decorator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from step.host.extensions import modules_of, register

Lowering = TypeVar("Lowering", bound=Callable[..., Any])

Options = Mapping[str, Any]
"""Arguments of an operator by name."""

_LOWERINGS: dict[str, Callable[..., Any]] = {}


def lowers(*ops: str) -> Callable[[Lowering], Lowering]:
    """Make a function the lowering of ``ops``, of `aten.mul.Tensor` say.

    It is called with the importer and the operator's arguments, and returns the value of the result, or a tuple of
    values where there are several.
    """

    def enter(function: Lowering) -> Lowering:
        for op in ops:
            register(_LOWERINGS, op, cast("Callable[..., Any]", function), "lowering")
        return function

    return enter


def declare(says: str, lowering: Callable[..., Any], *ops: str) -> None:
    """Make ``lowering``, which does what it ``says``, that of ``ops``."""
    lowering.__doc__ = says
    lowers(*ops)(lowering)


def lowerings() -> Mapping[str, Callable[..., Any]]:
    """All lowerings by their operators."""
    modules_of("step_torch.lowerings")
    return _LOWERINGS
