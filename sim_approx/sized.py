"""Tiles of dynamic size: a firing with one of n rows takes what it takes with a static tile of n rows.

No hardware has them yet: this says what a fabric would do whose links and units handle the rows that there are. A value
is its rows here: where nobody wants to know the scalars, their number stands for the tile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sim_approx.site import Site
from sim_approx.words import RowsOf, unknown
from step.errors import FabricError
from step.firing.machine import Machine, Pace, Sizes
from step.language.function import Function
from step.language.types import ElementType, Tile


def is_dynamic(element: ElementType | None) -> bool:
    """Whether ``element`` is a tile whose rows only a run tells."""
    return isinstance(element, Tile) and not element.rows.is_static


def size(site: Site, machine: Machine, sizes: Callable[[Site, Machine], Sizes] | None) -> None:
    """Give ``machine``, where it reads or writes tiles of dynamic size, its ``sizes``.

    ``sizes(site, machine)`` gives them; raises `FabricError` where there is none.
    """
    if not any(map(is_dynamic, (*site.elements_in, *site.elements_out))):
        return
    if sizes is None:
        raise FabricError(
            f"{site.node.describe()}: only the interpreter has tiles of dynamic size at this operator; "
            "pack their rows into tiles of a static size"
        )
    machine.sizes = cache(sizes(site, machine))
    machine.sized = tuple(is_dynamic(each.element) for each in site.node.output_types)


def passing(site: Site, machine: Machine) -> Sizes:
    """Of a unit that sends on what it gets, word by word."""
    latency = machine.latency
    return lambda rows: Pace(max(site.beats_with(rows)), latency)


def computing(site: Site, function: Function, *, reduce: bool) -> Sizes:
    """Of a unit that applies ``function``; a tile without rows takes as long as one with one."""

    def pace(rows: int) -> Pace:
        timing = site.timing(function, reduce=reduce, stored=reduce, rows=max(1, rows))
        return Pace(timing.initiation_interval, timing.latency, site.beats_with(rows)[-1])

    return pace


def applied(site: Site) -> Callable[..., Any]:
    """Stands for a function whose result nobody needs: of dynamic tiles it has the rows, which may decide."""
    result = site.node.output_types[0].element
    return RowsOf(_alike(site, result)[:1]) if is_dynamic(result) else unknown


def reduced(site: Site) -> tuple[Any, Callable[..., Any]]:
    """Stand for the initial state and its update where nobody needs them: of dynamic size, they have the rows.

    These are those of an operand that has the same by type, else they grow by those of the first one.
    """
    first, result = site.node.inputs[0].element, site.node.output_types[0].element
    if not is_dynamic(result):
        return unknown(), unknown
    same = [port + 1 for port in _alike(site, result)]  # behind the state
    if same:
        return 0, RowsOf((same[0],))
    assert isinstance(first, Tile)
    return 0, RowsOf((0,), int(first.rows)) if first.rows.is_static else RowsOf((0, 1))


def _alike(site: Site, result: ElementType) -> tuple[int, ...]:
    """The inputs whose tiles have as many rows as ``result``."""
    assert isinstance(result, Tile)
    elements = [each.element for each in site.node.inputs]
    return tuple(port for port, each in enumerate(elements) if isinstance(each, Tile) and each.rows == result.rows)
