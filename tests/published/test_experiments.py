"""The command that runs figures: it resumes, and does not mix."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from experiments.published.__main__ import main
from experiments.published.claims import improvement
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
