"""The command that runs figures: it resumes, and does not mix."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from experiments.published.__main__ import main
from experiments.published.claims import improvement, losses, speedups
from experiments.published.page import RESULTS, page, read
from step.errors import InputError


def test_a_figure_is_run_once_and_results_of_other_sources_are_refused(tmp_path: Path) -> None:
    arguments = ["8", "--only", "64x128", "--results", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert "figure 8, 64x128: 9,260 cycles" in done.output and "| 64x128 | 9,260 | | |" in done.output
    again = CliRunner().invoke(main, arguments)
    assert "figure 8, 64x128:" not in again.output and "| 64x128 | 9,260 | | |" in again.output
    path = tmp_path / "published_fig8.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace(lines[1].split(",")[10], "other")]))
    refused = CliRunner().invoke(main, arguments)
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception) == f"{path} has results of other sources; remove it, or give another --results"


def test_the_distance_from_the_front_is_that_of_the_nearest_point() -> None:
    rows = [
        {"point": f"mixtral {name}", "cycles": cycles, "on_chip_bytes": memory}
        for name, cycles, memory in (("8", 70, 10), ("32", 30, 40), ("dynamic", 20, 20))
    ]
    assert improvement(rows, "mixtral") == 2.0
    assert improvement(rows, "qwen") is None


def test_a_smoke_run_takes_a_few_points(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--smoke", "--results", str(tmp_path)])
    assert done.exit_code == 0 and "| B=16 coarse | 43,789 | 43,789 | 1.0000 |" in done.output
    assert {each.name for each in tmp_path.iterdir()} == {"published_fig8.csv", "published_fig15.csv"}


def test_the_page_is_that_of_the_result_files() -> None:
    path = Path(__file__).parents[2] / "docs" / "evaluation-published.md"
    assert path.read_text() == page(read(RESULTS)), "run python -m experiments.published.page"


def test_a_batch_that_dynamic_regions_lose_is_named() -> None:
    rows = [{"point": f"a {name}", "cycles": cycles} for name, cycles in (("coarse", 90), ("dynamic", 100))]
    assert speedups(rows, "coarse") == {"a": 0.9}
    assert losses(rows) == ["a to coarse (0.900)"]
