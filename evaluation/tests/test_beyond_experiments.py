"""Techniques that pay: points run and are kept, factors are the right way round, and the page is that of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.__main__ import main
from experiments.beyond import draws
from experiments.beyond.arrivals import Arrivals
from experiments.beyond.factors import best_static, dynamic_regions, dynamic_tiles, shared_regions
from experiments.beyond.maps import Map, picture
from experiments.beyond.mixtures import OTHER_SEEDS, SEED, MixturePoint, mixtures
from experiments.files import FILES
from experiments.rows import RESULTS, read

STUDIES = ["mixtures", "arrivals"]
ONE_OF_EACH = {"mixtures": "mixtral batch 16 skew 0.0 tiles 8 regions 8", "arrivals": "deviation 0.0 load 0.25 coarse"}


def test_points_are_run_once(tmp_path: Path) -> None:
    for study, point in ONE_OF_EACH.items():
        arguments = [f"beyond_{study}", "--only", point, "--jobs", "1", "--results", str(tmp_path)]
        done = CliRunner().invoke(main, arguments)
        assert done.exception is None and "[1/1]" in done.output
        (row,) = read(tmp_path / f"beyond_{study}.csv")
        assert row["point"] == point and row["moved_bytes"] == row["off_chip_bytes"] > "0"
        assert float(row["latency" if study == "arrivals" else "cycles"]) > 0
        again = CliRunner().invoke(main, arguments)
        assert again.exception is None and "[1/1]" not in again.output


@pytest.mark.parametrize("study", STUDIES)
def test_committed_results_are_those_of_all_points(study: str) -> None:
    campaign, _ = FILES[f"beyond_{study}"]
    names = [point.name for point in campaign.figures[study]()]
    assert len(set(names)) == len(names)
    kept = [row["point"] for row in campaign.read(RESULTS, study)]
    first = [point.name for point in campaign.figures[study]() if point.seed == SEED]
    assert kept[: len(first)] == first and set(kept) <= set(names)


def test_batches_come_as_often_as_the_load_says() -> None:
    """4 regions take 64 cycles for a tile of 32 rows, and here 16 requests have as many tiles."""
    point = Arrivals(0.0, 0.5, "dynamic")
    (length,) = set(point.lengths.tolist())
    gaps = point.gaps.reshape(8, 16)
    assert gaps[1:, 0].tolist() == [16 * -(-(length + 1) // 32) * 64 / 4 / 0.5] * 7
    assert gaps[0, 0] == 0 and gaps[:, 1:].max() == 0


def test_models_are_smaller_and_have_all_their_experts() -> None:
    program = MixturePoint("mixtral", 16, 0.0, "dynamic", 8).point.make()
    assert sum(name.endswith("_gate") for name in program.graph.tensors) == 8
    assert program.graph.tensors["expert0_gate"].shape == (512, 1792)


def row(cycles: int, tiles: str, regions: int = 8, memory: int = 1) -> dict[str, str]:
    values = {"model": "mixtral", "batch": 16, "skew": 0.5, "tiles": tiles, "regions": regions, "seed": 1}
    return {name: str(value) for name, value in {**values, "cycles": cycles, "on_chip_bytes": memory}.items()}


ROWS = [row(300, "8", memory=30), row(200, "32", memory=50), row(100, "dynamic", memory=20), row(500, "32", regions=4)]


def test_factors_of_tiles_say_how_much_faster_dynamic_ones_are() -> None:
    eight, thirty_two, *others = dynamic_tiles(ROWS)
    assert eight.factors == {(16, 0.5): 3.0} and thirty_two.factors == {(16, 0.5): 2.0}
    assert all(each.factors == {} for each in others)
    assert best_static(ROWS, "mixtral") == {(16, 0.5): (32, 2.0)}
    assert best_static(ROWS, "mixtral", "on_chip_bytes") == {(16, 0.5): (32, 2.5)}


def test_factors_of_regions_say_how_much_more_each_of_them_does() -> None:
    """Half as many take 2.5 times as long: each does 0.8 of the work of before."""
    assert shared_regions(ROWS)[0].factors == {(16, 0.5): 0.8}


def test_factors_of_requests_say_how_much_sooner_dynamic_regions_are_done() -> None:
    rows = [
        {"deviation": "0.5", "load": "1.0", "arrangement": name, "latency": latency}
        for name, latency in (("coarse", "30.0"), ("interleaved", "15.0"), ("dynamic", "20.0"))
    ]
    assert [each.factors for each in dynamic_regions(rows)] == [{(0.5, 1.0): 1.5}, {(0.5, 1.0): 0.75}]


def test_a_map_is_drawn_with_and_without_all_of_its_factors() -> None:
    found = Map("title", "down", "across", (1, 2), (0.5, 1.0), {(1, 0.5): 2.0, (2, 1.0): 0.25})
    assert np.array_equal(found.table, [[2, np.nan], [np.nan, 0.25]], equal_nan=True)
    drawing = picture([found, found], 2)
    assert drawing == picture([found, found], 2)
    assert drawing.count(b">2.00<") == drawing.count(b">0.25<") == 2 * 2  # in the map and on its scale


def test_each_map_has_a_scale_of_its_own() -> None:
    """Its ends are written beside it; one with large factors does not make the others white."""
    small, large = (Map("title", "down", "across", (1,), (0.5,), {(1, 0.5): factor}) for factor in (1.2, 50.0))
    drawing = picture([small, large], 2)
    assert [drawing.count(each) for each in (b">1.20<", b">50.00<")] == [2, 2]


def test_points_are_drawn_again_with_other_seeds() -> None:
    points = [point for point in mixtures() if point.batch == 64 and point.model == "mixtral" and point.skew == 1.0]
    names = [point.name for point in points if point.tiles == "dynamic"]
    first = "mixtral batch 64 skew 1.0 tiles dynamic regions 8"
    assert names == [first, *(f"{first} seed {seed}" for seed in OTHER_SEEDS)]
    once, again, _ = (Arrivals(1.0, 1.0, "dynamic", seed).lengths for seed in (1, *OTHER_SEEDS))
    assert not np.array_equal(once, again)


def test_draws_are_compared_at_the_points_that_all_seeds_have() -> None:
    rows = [
        row(cycles, tiles) | {"seed": str(seed)}
        for seed, cycles, tiles in ((1, 300, "8"), (1, 100, "dynamic"), (2, 400, "8"), (2, 100, "dynamic"))
    ]
    rows += [each | {"skew": "2.0"} for each in rows[:2]]
    assert draws.table(rows, []).splitlines()[2:] == [
        "| mixtral, 8 experts: tiles of 8 rows, cycles, relative to dynamic tiles | 2 | 1 | 3.00 to 4.00 |"
        " 3.46 (2.61 to 4.59) | 3.00 to 4.00 |"
    ]
    assert draws.table(rows[:2], []) == ""
