"""The published figures on the fabric: the command runs every kind of workload, resumes, and does not mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.fabric.__main__ import main
from experiments.fabric.figures import FIGURES
from experiments.fabric.plots import DRAWN, plot
from experiments.fabric.points import attentions, mixture
from experiments.fabric.record import COLUMNS
from experiments.fabric.tables import table
from experiments.rows import RESULTS, ROOT, read, write
from step.errors import InputError
from step_models.configurations import configuration


def test_a_point_is_run_once_and_results_of_other_sources_are_refused(tmp_path: Path) -> None:
    arguments = ["--smoke", "--results", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exception is None
    path = tmp_path / "fabric_figsmoke.csv"
    rows = read(path)
    kinds = ["static", "multiplexed", *(f"attention {each}" for each in ("coarse", "interleaved", "dynamic"))]
    assert [row["point"] for row in rows] == kinds
    assert all(int(row["cycles"]) > 0 and int(row["firings"]) > 0 and row["engine"] for row in rows)
    again = CliRunner().invoke(main, arguments)
    assert "figure smoke," in done.output and "figure smoke," not in again.output
    path.write_text(path.read_text().replace(rows[0]["sources"], "other"))
    refused = CliRunner().invoke(main, arguments)
    assert isinstance(refused.exception, InputError)
    assert (
        str(refused.exception)
        == f"{path} has results of other sources; remove it, give another --results, or run it --anew"
    )


def test_lanes_give_the_published_operations_a_cycle() -> None:
    model = replace(configuration("Mixtral-8x7B"), hidden=32, inner=32, experts=4)
    point = mixture("small", model, np.array([[0, 1], [2, 1]]), rows=2, columns=16, flops=1024)
    fabric = point.make().fabric
    assert (fabric.matmul_lanes, fabric.vector_lanes, fabric.stages, fabric.link_bytes) == (512, 512, 1, 64)
    memory = fabric.memory
    assert memory.channels * memory.beat_bytes // memory.interval == 1024
    (coarse, *_) = attentions("small", np.array([3]), 64, size=16)
    assert coarse.make().fabric.matmul_lanes == 1024


@pytest.mark.parametrize("points", FIGURES.values(), ids=FIGURES)
def test_the_points_of_a_figure_have_names_of_their_own(points: Callable) -> None:
    names = [point.name for point in points()]
    assert len(set(names)) == len(names)


def test_a_table_has_the_published_cycles_or_those_of_the_published_timing() -> None:
    counts = {"off_chip_bytes": "", "units": "3", "firings": "4000", "tokens": "5"}
    seconds = {"prepare_seconds": "0.25", "run_seconds": "1.5"}
    rows = [{"point": name, "cycles": "1500", **counts, **seconds} for name in ("a", "b", "c")]
    published = [
        {"point": "a", "cycles": "999", "published_cycles": "1000.0"},
        {"point": "b", "cycles": "3000", "published_cycles": ""},
    ]
    lines = table("1", rows, published).splitlines()[4:]
    assert lines == [
        "| a | 1,500 | 1,000 | 1.500 |  | 3 | 4,000 | 5 | 1.8 |",
        "| b | 1,500 | (3,000) | 0.500 |  | 3 | 4,000 | 5 | 1.8 |",
        "| c | 1,500 |  |  |  | 3 | 4,000 | 5 | 1.8 |",
    ]


def test_committed_results_are_those_of_points_that_there_are() -> None:
    for name, points in FIGURES.items():
        assert {row["point"] for row in read(RESULTS / f"fabric_fig{name}.csv")} <= {point.name for point in points()}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn(name: str) -> None:
    rows = [
        {"point": point.name, "cycles": str(10 + number), "on_chip_bytes": str(100 + number)}
        for number, point in enumerate(list(FIGURES[name]())[:6])
    ]
    drawing = plot(name, rows)
    assert drawing.startswith(b"<?xml") and drawing == plot(name, rows)


def test_the_page_has_the_results_that_there_are_and_says_what_is_missing(tmp_path: Path) -> None:
    *kept, missing = read(RESULTS / "fabric_fig15.csv")[:3]
    write(tmp_path / "fabric_fig15.csv", COLUMNS, kept)
    page = tmp_path / "page.md"
    done = CliRunner().invoke(main, ["15", "--results", str(tmp_path), "--table", str(page), "--plots", str(tmp_path)])
    assert done.exception is None and (tmp_path / "fabric_fig15.svg").exists()
    text = page.read_text()
    assert "## Figure 15\n" in text and all(f"| {row['point']} |" in text for row in kept)
    assert f"\n- Figure 15: {missing['point']}, B=32 coarse, " in text


def test_the_page_of_the_documentation_is_that_of_the_committed_results(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    CliRunner().invoke(main, ["--table", str(page)])
    assert page.read_text() == (ROOT / "docs" / "evaluation-fabric.md").read_text()
