"""Tiles of dynamic size: a firing with one of n rows takes what it takes with a static tile of n rows.

No hardware has them yet: this says what a fabric would do whose links and units handle the rows that there are. A value
is its rows here: where nobody wants to know the scalars, a tile of n rows and no column stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from sim_approx.machine import Machine, Sizes, unknown
from sim_approx.site import Site
from sim_approx.timing import Timing
from sim_approx.units import unit_module
from step.errors import FabricError
from step.language.function import Function
from step.language.types import ElementType, Tile


def is_dynamic(element: ElementType | None) -> bool:
    """Whether ``element`` is a tile whose rows only a run tells."""
    return isinstance(element, Tile) and not element.rows.is_static


def size(site: Site, machine: Machine) -> None:
    """Give ``machine``, where it reads or writes tiles of dynamic size, its ``sizes``.

    The module of the unit has them as ``sizes(site, machine)``; raises `FabricError` where it has none.
    """
    if not any(map(is_dynamic, (*site.elements_in, *site.elements_out))):
        return
    sizes = getattr(unit_module(site.node), "sizes", None)
    if sizes is None:
        raise FabricError(
            f"{site.node.describe()}: only the interpreter has tiles of dynamic size at this operator; "
            "pack their rows into tiles of a static size"
        )
    found = sizes(site, machine)
    # Beside tiles of dynamic size a unit may send what decides, such as which elements are padding.
    alone = len(machine.outputs) == 1
    machine.sizes = tuple(found if alone or is_dynamic(each) else None for each in site.elements_out)


def passing(site: Site, machine: Machine) -> Sizes:
    """Of a unit that sends on what it gets, word by word."""

    @cache
    def timing(rows: int) -> Timing:
        return Timing(max(*site.beats_with(rows)), machine.latency)

    return lambda token: timing(len(token.value))


def computing(site: Site, function: Function, *, reduce: bool) -> Callable[[int], Timing]:
    """Of a unit that applies ``function``, by the number of rows; a tile without rows takes as long as one with one."""

    @cache
    def timing(rows: int) -> Timing:
        return site.timing(function, reduce=reduce, rows=max(1, rows))

    return timing


def rows_only(rows: int) -> np.ndarray:
    """Stands for a tile with so many rows, whose scalars nobody wants to know."""
    return np.empty((rows, 0))


def applied(site: Site) -> Callable[..., Any]:
    """Stands for a function whose result nobody needs: of dynamic tiles it has the rows."""
    if not is_dynamic(site.elements_out[0]):
        return unknown
    (first, *_) = [port for port, each in enumerate(site.elements_in) if is_dynamic(each)]
    return lambda *values: rows_only(len(values[first]))


def reduced(site: Site) -> tuple[Any, Callable[..., Any]]:
    """Stand for the initial state and its update where nobody needs them: of dynamic size, they have the rows.

    These grow by those of every element where they are not the same as these by type.
    """
    first, result = site.elements_in[0], site.elements_out[0]
    if not isinstance(first, Tile) or not isinstance(result, Tile) or not is_dynamic(result):
        return unknown(), unknown
    grows = first.rows != result.rows
    fixed = int(first.rows) if first.rows.is_static else None

    def update(state: np.ndarray, value: Any, *others: Any) -> np.ndarray:
        rows = len(value) if fixed is None else fixed
        return rows_only(len(state) + rows if grows else rows)

    return rows_only(0), update
