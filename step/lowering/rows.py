"""Room for tiles of dynamic size: operators at which these begin may promise fewer rows than a fabric allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from step.errors import FabricError
from step.language.graph import Node
from step.lowering.needs import Port


def rows_behind(
    units: Iterable[Node], producers: Mapping[Port, Port], promised: Mapping[str, int], most: int
) -> Mapping[str, int]:
    """The most rows of a tile of dynamic size that leaves a unit, by its name.

    Tiles have ``most`` rows where they begin, or what is ``promised`` there, and keep them on their way: a unit sends
    no more than the most that it is sent. ``producers``: where the stream of an input comes from.
    """
    units = list(units)
    begun = {unit.name: promised.get(unit.name, most) for unit in units if unit.operator.makes_rows(unit)}
    sending = {unit.name: _senders(unit, producers) for unit in units if unit.name not in begun}
    found, before = {**dict.fromkeys(sending, 0), **begun}, None
    while found != before:  # loops bring rows back to where they passed
        before = dict(found)
        for name, senders in sending.items():
            found[name] = max((found[each] for each in senders), default=most)
    return {name: rows or most for name, rows in found.items()}


def _senders(unit: Node, producers: Mapping[Port, Port]) -> list[str]:
    """The units that ``unit`` has tiles of dynamic size from."""
    return [
        producers[unit.name, port][0]
        for port, stream in enumerate(unit.inputs)
        if any(not tile.rows.is_static for tile in stream.element.tiles)
    ]


def check_most_rows(name: str, rows: Any, most: int) -> None:
    """Raise `FabricError` unless the ``rows`` of tiles that begin at ``name`` can be promised."""
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise FabricError(f"most_rows of {name!r} must be an integer >= 1, not {rows!r}")
    if rows > most:
        raise FabricError(f"most_rows of {name!r} must be at most the fabric's dynamic_rows of {most:,}, not {rows:,}")
