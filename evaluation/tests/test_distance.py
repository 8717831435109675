"""The page of the evaluation with distance is that of its result files."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.distance.page import PAGE, page
from experiments.distance.points import CAMPAIGN, HOPS, measured
from experiments.fabric.smoke import smoke
from experiments.rows import RESULTS
from step import Simulator


def test_the_page_is_that_of_the_results() -> None:
    assert page(RESULTS) == PAGE.read_text()
    assert len(PAGE.read_text().split()) <= 800


@pytest.mark.parametrize("path", sorted(RESULTS.glob("distance_*.csv")), ids=lambda path: path.stem)
def test_rows_of_every_file_are_on_the_page(path: Path, tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    rows = path.read_text().splitlines(keepends=True)
    (tmp_path / path.name).write_text("".join(rows[:-1]))
    assert page(tmp_path) != page(RESULTS)


def test_every_point_has_a_row() -> None:
    for study, points in CAMPAIGN.figures.items():
        rows = CAMPAIGN.read(RESULTS, study)
        assert [row["point"] for row in rows] == [each.name for each in points()]
        for row in rows:
            assert all(int(row["cycles"]) < 1.2 * int(row[f"far{hop}"]) for hop in HOPS)


def test_a_mixture_has_the_hops_of_a_smaller_one() -> None:
    """A point placed as it is has cycles of both placements, and one placed with smaller weights those of the whole."""
    point = next(each for each in smoke() if each.narrow is not None)
    row, own = measured(point), measured(replace(point, narrow=None))
    assert row["cycles"] == own["cycles"] == Simulator(point.make()).run().cycles
    assert row["wires1"] is None and isinstance(own["wires3"], int)
    for each in (row, own):
        assert all(isinstance(each[f"far{hop}"], int) and each[f"most{hop}"] for hop in HOPS)
