"""Claims, plots and the page, made of results."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.published.page import page
from experiments.published.recorded import spread
from experiments.published.rows import COLUMNS
from experiments.published.show import (
    decoding,
    exactness,
    multiplexing,
    parallelization,
    seconds,
    shares,
    speed,
    validation,
)
from experiments.published.show.claim import Claim, table
from experiments.published.show.plots import DRAWN, plot
from experiments.published.show.results import FigureRows, Missing, told
from experiments.published.show.tables import known_points
from experiments.published.show.tiling import costs, distance
from experiments.rows import RESULTS, write


def results(folder: Path, figure: str, *rows: dict[str, object]) -> FigureRows:
    """Results of one file with ``rows``."""
    whole = [{name: str(row.get(name, "")) for name in COLUMNS} for row in rows]
    write(folder / f"published_fig{figure}.csv", COLUMNS, whole)
    return FigureRows(folder, "published")


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
    found = parallelization.means(FigureRows(RESULTS, "published"), batch, baseline, bars)
    assert found == pytest.approx(list(bars.values()), abs=1.5e-3)


def test_points_without_a_published_number_share_a_line(tmp_path: Path) -> None:
    known = {"point": "a", "cycles": 90, "published_cycles": 100.0, "off_chip_bytes": 7, "on_chip_bytes": 8}
    known |= {"published_off_chip_bytes": 7, "published_on_chip_bytes": 9}
    equal = known | {"point": "d", "published_cycles": 91.0, "published_on_chip_bytes": 8}
    others = [{"point": name, "cycles": cycles} for name, cycles in (("b", 1000), ("c", 20))]
    found = results(tmp_path, "9", known, equal, *others)
    assert known_points(list(found.points("9").values())).splitlines()[2:] == [
        "| a | 90 | 100 | 0.9000 | 7 = | 8 (published 9) |",
        "",
        "1 point as published: 90 cycles.",
        "",
        "2 points without a published number: 20 to 1,000 cycles.",
    ]


def test_seconds_add_up(tmp_path: Path) -> None:
    rows = [{"point": name, "cpu_seconds": 0.5, "elements": 2000} for name in "ab"]
    assert seconds.table(results(tmp_path, "15", *rows)).splitlines()[2:] == [
        "| 15 | 2 | 4,000 | 1.0 | 60 |",
        "| all | | | 1.0 | |",
    ]


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn_of_the_committed_results(name: str) -> None:
    assert plot(name, FigureRows(RESULTS, "published")).startswith(b"<?xml")


def test_a_plot_is_the_same_for_the_same_results(tmp_path: Path) -> None:
    found = results(tmp_path, "8", {"point": "16x16", "cycles": 10, "off_chip_bytes": 20})
    assert plot("8", found) == plot("8", found)
    with pytest.raises(Missing, match=r"^figure 14$"):
        plot("14", found)


def test_hdl_has_all_tile_sizes() -> None:
    """The issue of a comparison is in the points that it leaves out: there were six of fifteen."""
    assert validation.hdl().keys() == {f"{m}x{n}" for m in (16, 32, 64) for n in (16, 32, 64, 128, 256)}
    ours, theirs = (FigureRows(RESULTS, name) for name in ("fabric", "published"))
    assert [f"{validation.mean_error(each):.3f}" for each in (theirs, ours)] == ["0.061", "0.050"]
    assert [validation.worst(each) for each in (theirs, ours)] == ["+26% (64x256)", "-13% (64x128)"]
    assert [f"{validation.correlated(each):.3f}" for each in (theirs, ours)] == ["0.991", "0.998"]
    assert max(validation.errors(ours).values()) < 0, "a tile size takes more cycles than HDL"


def test_speed_is_that_of_the_same_machine() -> None:
    assert [round(each) for each in speed.factors("simulator")] == [10, 9, 9]
    assert speed.factors("framework") == [4.0, 8.2, 4.4, 6.6, 2.8, 4.3, 2.6, 4.8]
    assert speed.factors("framework elsewhere") == [4.2, 5.1, 3.2, 4.8, 2.3, 3.6, 2.6, 4.4]
    told = speed.text()
    assert "compiled engine is 2.6 to 8.2 times as fast" in told and "the project measured 2.3 to 5.1." in told
    assert "| framework | chain | 10^6 firings a CPU second | 6.2 to 7.7 | 30 to 50 | 4.0 to 8.2 times" in told


def test_runs_of_one_graph_are_apart() -> None:
    assert [f"{each:.4f}" for each in spread()] == ["0.0030", "0.0027"]


def test_recorded_runs_that_no_figure_shows() -> None:
    rows = FigureRows(RESULTS, "published").points("beside").values()
    found = {row["point"]: (float(row["published_cycles"]), f"{exactness.ratio(row):+.2%}") for row in rows}
    assert found == {
        "mixtral dynamic, batch 64": (2782672, "+1.27%"),
        "qwen 256, depth 2": (1335125, "-0.06%"),
        "qwen 1024, depth 2": (1154880, "+0.01%"),
        "qwen dynamic, depth 2": (1051196, "+0.78%"),
        "dynamic 2": (2189778, "+0.00%"),
    }


def test_points_that_are_far_off_are_named(tmp_path: Path) -> None:
    for figure in (*exactness.MIXTURES, exactness.BESIDE, exactness.VALIDATION, *exactness.ATTENTION):
        results(tmp_path, figure, {"point": "near", "cycles": 1001, "published_cycles": 1001.0})
    far = {"point": "far", "cycles": 1028, "published_cycles": 1000.0}
    near = {"point": "near", "cycles": 1004, "published_cycles": 1000.0}
    results(tmp_path, "10", near, far)
    (tmp_path / "published_figbeside.csv").rename(tmp_path / "published_beside.csv")
    told = exactness.text(FigureRows(tmp_path, "published"))
    assert "3 are within 10 cycles, and all but `far` (+2.8%) within 0.4%." in told


@pytest.mark.parametrize("tiles", ["static", "dynamic"])
def test_operations_of_figure_12_are_those_of_the_runs(tiles: str) -> None:
    """Counted from the routing, and by the metrics of the programs; the paper has 14 / 6 times as many."""
    rows = FigureRows(RESULTS, "fabric").points("12")
    assert {int(row["flops"]) for name, row in rows.items() if name.startswith(tiles)} == {
        multiplexing.operations(tiles)
    }
    assert multiplexing.published_operations(tiles) / multiplexing.operations(tiles) == pytest.approx(14 / 6, rel=0.002)


def test_utilization_is_that_of_the_paper_where_silu_counts_as_there() -> None:
    ours = FigureRows(RESULTS, "published")
    for tiles, published in multiplexing.PUBLISHED.items():
        done = multiplexing.published_operations(tiles)
        for regions, used in published.used.items():
            assert multiplexing.utilization(ours, tiles, regions, done) == pytest.approx(used, rel=0.01)


def test_the_published_bar_of_qwen_has_32_regions() -> None:
    assert decoding.regions_of_bar() == pytest.approx(32, abs=0.1)


def test_a_claim_that_can_not_be_reproduced_says_so() -> None:
    text = table(decoding.claims(), *(FigureRows(RESULTS, name) for name in ("published", "fabric")))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:] if line.startswith("|")]
    assert {reproduced for _, _, reproduced, *_ in lines} == {decoding.IRREPRODUCIBLE}
    assert [cells[1:5] for cells in lines if cells[0].startswith("dynamic on 32 regions over")] == [
        ["1.246", decoding.IRREPRODUCIBLE, "1.261", "1.201"]
    ]


@pytest.mark.parametrize("prefix", ["published", "fabric"])
@pytest.mark.parametrize("model", shares.ROWS)
def test_more_of_other_work_gives_the_published_bar(prefix: str, model: str) -> None:
    ours = FigureRows(RESULTS, prefix)
    more = shares.implied(ours, model) - shares.other_work(ours, model)
    found = shares.speedups(ours, model, more)["performance-matched"]
    assert found == pytest.approx(decoding.bars()[model, "performance-matched"]["speedup"])
    assert 2.9e6 < shares.implied(ours, model) < 6e6


def test_a_claim_that_is_fair_as_published_has_no_other_version() -> None:
    claim = Claim("name", "1", lambda results: "2", None, lambda results: "words")
    ours = FigureRows(RESULTS, "published")
    assert table([claim], ours, ours).splitlines()[2:] == ["| name | 1 | 2 | - | 2 | words |"]
    again = replace(claim, name="again")
    assert table([claim, again], ours, ours).splitlines()[2:] == [
        "| name | 1 | 2 | - | 2 | Note 1 |",
        "| again | 1 | 2 | - | 2 | Note 1 |",
        "",
        "* Note 1. words",
    ]


def test_the_page_of_no_results_has_no_figures(tmp_path: Path) -> None:
    assert "## Figure" not in page(tmp_path)


def test_committed_results_are_whole() -> None:
    for path in RESULTS.glob("published_*.csv"):
        with path.open(newline="") as file:
            assert tuple(next(csv.reader(file))) == COLUMNS
