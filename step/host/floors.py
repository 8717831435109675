"""Functions of the floors above, looked up among the entry points, as `step` imports none of these floors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from step.errors import EnvironmentProblem


def floor_names(group: str) -> list[str]:
    """What is installed in ``group``, sorted."""
    return sorted(each.name for each in entry_points(group=group))


def from_floor(group: str, name: str, what: str, extra: str = "sim") -> Callable[..., Any]:
    """The function that is installed as ``name`` in ``group``.

    Raises `EnvironmentProblem` where a module is missing; ``what`` is what needs it, ``extra`` installs it.
    """
    entry = _entry(group, name)
    try:
        loaded: Callable[..., Any] = entry.load()
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"{what} needs the module {error.name}; install it with: pip install 'step-fabric[{extra}]'"
        ) from None
    return loaded


@cache
def _entry(group: str, name: str) -> EntryPoint:
    """It, which is looked for among all that is installed."""
    (entry,) = entry_points(group=group, name=name)
    return entry
