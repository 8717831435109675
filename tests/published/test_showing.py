"""Claims, plots and the page, made of results."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from experiments.published.page import page
from experiments.published.rows import COLUMNS
from experiments.published.show import parallelization, seconds
from experiments.published.show.plots import DRAWN, plot
from experiments.published.show.results import Missing, Results, told
from experiments.published.show.tables import known_points
from experiments.published.show.tiling import costs, distance
from experiments.rows import RESULTS, ROOT, write


def results(folder: Path, figure: str, *rows: dict[str, object]) -> Results:
    """Of one file with ``rows``."""
    whole = [{name: str(row.get(name, "")) for name in COLUMNS} for row in rows]
    write(folder / f"published_fig{figure}.csv", COLUMNS, whole)
    return Results(folder, "published")


def test_the_distance_from_the_front_is_that_of_the_nearest_point(tmp_path: Path) -> None:
    rows = [
        {"point": f"mixtral {name}", "cycles": cycles, "on_chip_bytes": memory}
        for name, cycles, memory in (("8", 70, 10), ("32", 30, 40), ("dynamic", 20, 20))
    ]
    found = results(tmp_path, "9", *rows)
    assert distance(*costs(found, "9", "mixtral")) == 2.0
    assert told(lambda: str(costs(found, "9", "qwen"))) == ""


def test_a_batch_that_dynamic_regions_lose_is_named(tmp_path: Path) -> None:
    trace = "conv_stdev0996_4007_4070"
    rows = [{"point": f"{trace} {name}", "cycles": cycles} for name, cycles in (("coarse", 90), ("dynamic", 100))]
    found = results(tmp_path, "14", *rows)
    assert parallelization.speedups(found, ("14",), "coarse") == {trace: 0.9}
    assert parallelization.lost(found)[0] == ["0996_4007_4070 to coarse (0.900)"]
    with pytest.raises(Missing, match=r"^batch of 64 requests$"):
        parallelization.means(found, 64, "coarse", ("high",))


@pytest.mark.parametrize(
    "trace, batch, name",
    [
        ("conv_stdev0479_1063_1078", 16, "low"),
        ("conv_stdev0479_1063_1078", 64, None),
        ("conv_stdev0986_3989_4068", 80, "medium"),
        ("conv_stdev1457_0961_1024", 64, "high"),
        ("conv_stdev0754_0181_0244", 64, None),
        ("B=16", 16, None),
    ],
)
def test_batches_are_of_low_medium_or_high_variance(trace: str, batch: int, name: str | None) -> None:
    assert parallelization.group(trace, batch) == name


@pytest.mark.parametrize("batch, baseline", parallelization.BARS)
def test_bars_of_figure_21_are_the_published_ones(batch: int, baseline: str) -> None:
    bars = parallelization.BARS[batch, baseline]
    found = parallelization.means(Results(RESULTS, "published"), batch, baseline, bars)
    assert found == pytest.approx(list(bars.values()), abs=1.5e-3)


def test_points_without_a_published_number_share_a_line(tmp_path: Path) -> None:
    known = {"point": "a", "cycles": 90, "published_cycles": 100.0, "off_chip_bytes": 7, "on_chip_bytes": 8}
    known |= {"published_off_chip_bytes": 7, "published_on_chip_bytes": 9}
    others = [{"point": name, "cycles": cycles} for name, cycles in (("b", 1000), ("c", 20))]
    found = results(tmp_path, "9", known, *others)
    assert known_points(list(found.points("9").values())).splitlines()[2:] == [
        "| a | 90 | 100 | 0.9000 | 7 = | 8 (published 9) |",
        "",
        "2 more points without a published number here: 20 to 1,000 cycles.",
    ]


def test_seconds_add_up(tmp_path: Path) -> None:
    rows = [{"point": name, "cpu_seconds": 0.5, "elements": 2000} for name in "ab"]
    assert seconds.table(results(tmp_path, "15", *rows)).splitlines()[2:] == [
        "| 15 | 2 | 4,000 | 1.0 | 60 | 60 |",
        "| all | | | 1.0 | | |",
    ]


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn_of_the_committed_results(name: str) -> None:
    assert plot(name, Results(RESULTS, "published")).startswith(b"<?xml")


def test_a_plot_is_the_same_for_the_same_results(tmp_path: Path) -> None:
    found = results(tmp_path, "8", {"point": "16x16", "cycles": 10})
    assert plot("8", found) == plot("8", found)
    with pytest.raises(Missing, match=r"^figure 14$"):
        plot("14", found)


def test_the_page_is_that_of_the_result_files() -> None:
    path = ROOT / "docs" / "evaluation-published.md"
    assert path.read_text() == page(RESULTS), "run python -m experiments.published.page"


def test_the_page_of_no_results_has_no_figures(tmp_path: Path) -> None:
    assert "## Figure" not in page(tmp_path)


def test_committed_results_are_whole() -> None:
    for path in RESULTS.glob("published_*.csv"):
        with path.open(newline="") as file:
            assert tuple(next(csv.reader(file))) == COLUMNS
