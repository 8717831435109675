"""The figures on DRAM, with the area and the energy of their points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from experiments.fabric import dram
from experiments.fabric.record import CAMPAIGN
from experiments.fabric.regions import ALL, FEW
from experiments.rows import Row
from experiments.said import listed, said, span
from step import MemoryConfig

NAME = f"`{dram.PRESET}`"
"""What columns are called."""
HEAD = ("figure", "point", "cycles", "energy, mJ", "LUT sites, 10^6", "multipliers", "block RAMs")
GROUPS = {"9": ("mixtral", "qwen"), "10": ("mixtral", "qwen"), "12": ("static", "dynamic")}
"""How the names of points of the same work begin."""


def known(results: Path, figure: str) -> dict[str, Row]:
    """The rows on DRAM that there are, by point."""
    return dram.CAMPAIGN.by_point(results, figure) if figure in dram.SHOWN else {}


def slower(results: Path, figure: str) -> list[float]:
    """Cycles on DRAM over those on the memory of the figure, of all points that have both."""
    there = known(results, figure)
    rows = [row for row in CAMPAIGN.read(results, figure) if row["point"] in there]
    return [int(there[row["point"]]["cycles"]) / int(row["cycles"]) for row in rows]


def words(results: Path) -> list[str]:
    """The slowdown on DRAM, and the share of the mapping of addresses in it; nothing without rows."""
    factors = {figure: found for figure in dram.SHOWN if (found := slower(results, figure))}
    if not factors:
        return []
    told = ", ".join(f"{span(each)} in Figure {figure}" for figure, each in factors.items())
    text = [
        f"The memory of the fabric is ideal: it has neither rows nor banks nor refresh. Columns {NAME} are of the same "
        f"programs on [DRAM](memory.md) of the same {dram.memory().bandwidth:,.0f} bytes a cycle: a stack of the "
        f"preset, as a fabric with a cycle of {dram.PICOSECONDS:,} ps sees it. They take more cycles by these factors: "
        f"{told}. "
    ]
    for name, tried in _interleaves(results).items():
        text.append(
            f"How many beats in a row lie in a channel (`interleave`) decides much of that: `{name}` takes "
            f"{listed(f'{cycles:,}' for cycles in tried.values())} cycles with {listed(tried)} of them. The columns "
            f"have {dram.INTERLEAVED}, the preset has {MemoryConfig.preset(dram.PRESET).interleave}."
        )
    return [" ".join(each.strip() for each in text)]


def _interleaves(results: Path) -> dict[str, dict[int, int]]:
    """Cycles by point and number of beats, of points with which all of these were tried."""
    rows = {row["point"]: int(row["cycles"]) for row in dram.CAMPAIGN.read(results, dram.INTERLEAVE)}
    return {
        each: {beats: rows[f"{each} {beats}"] for beats in dram.TRIED}
        for each in dram.EXAMPLES.values()
        if rows.keys() >= {f"{each} {beats}" for beats in dram.TRIED}
    }


def findings(results: Path) -> Iterator[str]:
    """Whether on DRAM the same techniques pay, and what they take of area and energy."""
    for figure in ("9", "10"):
        ideal, there = CAMPAIGN.by_point(results, figure), known(results, figure)
        told = [each for model in GROUPS[figure] if (each := _tiles(model, ideal, there))]
        if told:
            yield f"**Tiles of dynamic size on DRAM** (Figure {figure}). {' '.join(told)}"
    if told := list(_regions(results)):
        yield f"**Regions that experts share, on DRAM and by area** (Figure 12). {' '.join(told)}"
    if told := list(_arrangements(results)):
        yield f"**Dynamic regions on DRAM** (Figure 14). {' '.join(told)}"


def _tiles(model: str, ideal: Mapping[str, Row], there: Mapping[str, Row]) -> str:
    """Static tiles beside dynamic ones, if all were run."""
    names = [name for name in ideal if name.startswith(f"{model} ")]
    dynamic = f"{model} dynamic"
    if dynamic not in names or not set(names) <= there.keys():
        return ""
    static = [name for name in names if name != dynamic]
    fast = min(static, key=lambda name: int(there[name]["cycles"]))
    lean = min(static, key=lambda name: int(there[name]["picojoules"]))
    rows = fast.rpartition(" ")[2]
    return (
        f"The fastest static tiles of {model} ({rows} rows) take {_over(there, fast, dynamic, 'cycles'):.2f} times the "
        f"cycles of dynamic ones there, {_over(there, fast, dynamic, 'lut_sites'):.2f} times their LUT sites and "
        f"{_over(there, fast, dynamic, 'picojoules'):.2f} times their energy; those of least energy "
        f"({lean.rpartition(' ')[2]} rows) {_over(there, lean, dynamic, 'picojoules'):.2f} times."
    )


def _regions(results: Path) -> Iterator[str]:
    there, ideal = known(results, "12"), CAMPAIGN.by_point(results, "12")
    for kind in GROUPS["12"]:
        many, few = f"{kind} {ALL}", f"{kind} {FEW}"
        if there.keys() >= {many, few} <= ideal.keys():
            area = 1 / _over(there, few, many, "lut_sites")
            yield (
                f"With {kind} tiles {FEW} regions take {_over(there, few, many, 'cycles'):.2f} times the cycles there, "
                f"{_over(there, few, many, 'picojoules'):.2f} times the energy and {1 / area:.2f} times the LUT sites: "
                f"{area / _over(ideal, few, many, 'cycles'):.2f} times the work by area, on DRAM "
                f"{area / _over(there, few, many, 'cycles'):.2f} times."
            )


def _arrangements(results: Path) -> Iterator[str]:
    there, ideal = known(results, "14"), CAMPAIGN.by_point(results, "14")
    whole = [name.rpartition(" ")[0] for name in there if name.endswith(" dynamic") and name in ideal]
    for baseline in ("coarse", "interleaved"):
        pairs = [(f"{name} {baseline}", f"{name} dynamic") for name in whole if f"{name} {baseline}" in there]
        if len(pairs) > 1:
            gains = [geometric_mean(_over(rows, *pair, "cycles") for pair in pairs) for rows in (there, ideal)]
            areas = [_over(there, *pair, "lut_sites") for pair in pairs]
            yield said(
                f"They are {gains[0]:.2f} times as fast as {baseline} ones in the mean of {len(pairs)} batches, which "
                f"is {gains[1]:.2f} on ideal memory, in the same area ({span(areas, '.3f')} of the LUT sites) and with "
                "the same energy.",
                all(abs(each - 1) < ALIKE for each in areas),
                all(abs(_over(there, *pair, "picojoules") - 1) < ALIKE for pair in pairs),
            )


ALIKE = 0.01
"""What differs by less is the same."""


def _over(rows: Mapping[str, Row], one: str, other: str, column: str) -> float:
    return int(rows[one][column]) / int(rows[other][column])


def costs(results: Path) -> list[Sequence[str]]:
    """Energy and area, a line per point of the mixtures, and those of the first batch of attention."""
    lines: list[Sequence[str]] = []
    for figure in (*GROUPS, "15"):
        ideal = CAMPAIGN.by_point(results, figure)
        for name, row in known(results, figure).items():
            lines.append(
                (
                    *(figure, name, f"{int(ideal[name]['cycles']):,}" if name in ideal else ""),
                    *(f"{int(row['picojoules']) / 1e9:.3g}", f"{int(row['lut_sites']) / 1e6:.3g}"),
                    *(f"{int(row['multipliers']):,}", f"{int(row['block_rams']):,}"),
                )
            )
    return lines


LIMITS = (
    "What the points take of area ([formulas](areas.md)) and energy ([published figures](energy.md)). Both are models, "
    "to compare programs with. The formulas were fitted to designs of a small FPGA, thousands of times smaller: "
    "they know neither routing nor the clock that would be reached, and count on-chip memory by its pages. The "
    "energy is that of an ASIC, without clock, leakage, or activation and refresh of DRAM, so it is the same on both "
    "memories. A point of fewer cycles in more area is better only if the area is there: work by area is that of a "
    "run over its cycles times LUT sites."
)
