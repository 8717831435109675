"""Grids: places of a floor, what may stand on each, and how far they are from each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, ClassVar

from step.errors import InputError, expect
from step.language.parameters import Within, settled
from step.language.stream import Hops
from step.programs.files.json_file import JsonFile

Place = tuple[int, int]
"""A column and a row."""

MOST = 1 << 10

Side = Annotated[int, Within(1, MOST)]
Tracks = Annotated[int, Within(1, 1 << 16)]

ANY, NONE = "*", "."
PRODUCT, VECTOR, MEMORY, TRANSFER, OTHER = "PVMLC"
KINDS = {
    PRODUCT: "products",
    VECTOR: "vector units",
    MEMORY: "on-chip memories",
    TRANSFER: "loads and stores",
    OTHER: "other units",
}
"""Kinds of units, by the letters of their places."""


@dataclass(frozen=True)
class Grid(JsonFile):
    """Floor of places, as ``step place --grid FILE`` reads it.

    ``places``: rows of letters: ``P`` a product, ``V`` a vector unit, ``M`` an on-chip memory, ``L`` a load or a store,
    ``C`` any other unit, ``*`` any unit, ``.`` none.
    ``dies``: rows at which a further die begins.
    ``crossing``: hops of a step from one die to the next.
    ``tracks``: the most channels that pass side by side between two places, in both directions; None: any number.

    Raises `InputError` for what is no grid.

    >>> grid = step.Grid(("LPPM", "L**M"), dies=(1,), crossing=4)
    >>> step.Grid.of(4, 2).places
    ('****', '****')
    """

    schema: ClassVar = "grid"
    noun: ClassVar = "a grid"

    places: tuple[str, ...]
    dies: tuple[int, ...] = ()
    crossing: int = 0
    tracks: int | None = None

    def __post_init__(self) -> None:
        places = tuple(settled(self.places, Sequence[str], "places", InputError))
        expect(places, "places must have a row", InputError)
        for at, row in enumerate(places):
            settled(len(row), Side, f"the length of places[{at}]", InputError)
            if len(row) != len(places[0]):
                raise InputError(
                    f"places[{at}] must have {len(places[0])} places, as the first row has, not {len(row)}"
                )
            if wrong := set(row) - {*KINDS, ANY, NONE}:
                letters = ", ".join([*KINDS, ANY, NONE])
                raise InputError(f"places[{at}] must be of the letters {letters}, not {min(wrong)!r}")
        dies = tuple(settled(self.dies, Sequence[int], "dies", InputError))
        for at, row in enumerate(dies):
            if not (dies[at - 1] if at else 0) < row < len(places):
                raise InputError(f"dies[{at}] must be a row above those before and below {len(places)}, not {row}")
        crossing = settled(self.crossing, Hops, "crossing", InputError)
        expect(dies or not crossing, f"crossing={crossing} has no effect without dies", InputError)
        settled(self.tracks, Tracks | None, "tracks", InputError)
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "dies", dies)

    @classmethod
    def of(cls, columns: int, rows: int) -> Grid:
        """The grid of ``columns`` and ``rows`` of places for any unit."""
        columns, rows = (settled(each, Side, "a side of a grid", InputError) for each in (columns, rows))
        return cls((ANY * columns,) * rows)

    @property
    def columns(self) -> int:
        """Places of a row."""
        return len(self.places[0])

    @property
    def rows(self) -> int:
        """Rows of places."""
        return len(self.places)

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema ``grid`` describes it."""
        data = super().to_json()
        if not self.dies:
            del data["dies"], data["crossing"]
        return data if self.tracks is not None else {name: each for name, each in data.items() if name != "tracks"}

    def along(self, hop: int) -> tuple[list[int], list[int]]:
        """Hops from the first column to each, and from the first row to each, with ``hop`` of them a step."""
        down = [self.crossing if row in self.dies else hop for row in range(1, self.rows)]
        return [hop * each for each in range(self.columns)], [0, *accumulate(down)]

    def check_room(self, kinds: Sequence[str], name: str) -> None:
        """Raise `InputError` unless there are places for units of these ``kinds``, of the program called ``name``."""
        own, needed = Counter("".join(self.places)), Counter(kinds)
        lacking = {kind: need - own[kind] for kind, need in needed.items() if need > own[kind]}
        if sum(lacking.values()) <= own[ANY]:
            return
        if set(own) == {ANY}:
            side = next(side for side in range(1, MOST + 1) if side * side >= len(kinds))
            raise InputError(
                f"a grid of {self} has {own[ANY]:,} places, and {name} needs {len(kinds):,}, as for {side}x{side}"
            )
        short = ", ".join(f"{needed[kind]:,} {KINDS[kind]} ({kind}) on {own[kind]:,}" for kind in sorted(lacking))
        raise InputError(f"the grid has too few places for {name}: {short}, and {own[ANY]:,} for any unit ({ANY})")


def grid_of(given: Grid | Path | str | tuple[int, int]) -> Grid:
    """The `Grid` itself, that of a file, or that of columns and rows; raises `InputError` for others."""
    if isinstance(given, Grid):
        return given
    if isinstance(given, str | Path):
        return Grid.load(given)
    return Grid.of(*settled(given, tuple[int, int], "grid", InputError))
