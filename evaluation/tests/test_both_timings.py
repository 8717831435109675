"""Both timings by one command: it runs points of every kind, goes on where it was, and writes the pages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from experiments import __main__ as together
from experiments import queues
from experiments.__main__ import main
from experiments.beyond.page import PARTS
from experiments.fabric import balance
from experiments.fabric.figures import FIGURES
from experiments.files import SMOKE
from experiments.page import NAME, page
from experiments.rows import RESULTS, read, write
from step.errors import InputError


def test_a_smoke_run_has_points_of_both_timings_and_goes_on_where_it_was(tmp_path: Path) -> None:
    arguments = ["--smoke", "--jobs", "1", "--results", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exception is None
    files = {"published_fig8", "published_fig15", "fabric_smoke", "beyond_mixtures", "beyond_arrivals"}
    assert {path.stem for path in tmp_path.glob("*.csv")} == files == set(SMOKE)
    assert "figure 15, B=16 coarse: 43,789 cycles" in done.output and "figure smoke, static: 269 cycles" in done.output
    again = CliRunner().invoke(main, arguments)
    assert again.exception is None and "cycles, " not in again.output
    path = tmp_path / "fabric_smoke.csv"
    rows = read(path)
    write(path, list(rows[0]), [row | {"sources": "other"} for row in rows])
    refused = CliRunner().invoke(main, arguments)
    assert isinstance(refused.exception, InputError)
    message = f"{path} has results of other sources; remove it, give another --results, or run it --anew"
    assert str(refused.exception) == message


@pytest.mark.slow
def test_a_run_explains_draws_and_writes_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "named", lambda names: ["published_fig8", "fabric_fig8", "fabric_explained"])
    monkeypatch.setattr(together, "FIGURES", {"8": FIGURES["8"]})
    folders = [f"--{name}={tmp_path / name}" for name in ("results", "pages", "plots")]
    done = CliRunner().invoke(main, ["--jobs", "1", *folders])
    assert done.exception is None and "figure 8, 64x64: `off-chip memory` bandwidth" in done.output
    pictures = {f"beyond_{part}.svg" for part in PARTS}
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {NAME, *pictures}
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"published_fig8.svg", "fabric_fig8.svg"}
    assert "| 64x128 | 11,559 | (9,260) |" in (tmp_path / "pages" / NAME).read_text()


def test_a_page_without_results_has_the_claims(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "What holds on our fabric" not in text and "| 2.72 |  |  |  |" in text
    noted = re.search(r"\| 2\.64 \|  \| - \|  \| Note (\d+) \|", text)
    assert noted is not None and f"* Note {noted[1]}. How SiLU counts does not touch the ratio." in text


def test_queues_decide_whether_turns_are_slow() -> None:
    """The page on Fig. 15: with four elements a channel nothing of the published gain is left."""
    gains = queues.gains(queues.CAMPAIGN.read(RESULTS, "15"))
    assert gains.keys() == {(batch, depth) for batch in queues.BATCHES for depth in queues.DEPTHS}
    assert gains[64, 1] > 1.3 and all(gains[batch, 4] < 1 for batch in queues.BATCHES)


def test_regions_get_tiles_by_turns_or_the_emptiest_first() -> None:
    assert balance.most_tiles(queues.lengths(64)) == (562, 561)
    assert balance.most_tiles(np.array([95, 0, 0, 0, 31, 31])) == (4, 3)


def test_a_point_of_the_queues_is_that_of_the_published_figure() -> None:
    first = next(queues.points())
    assert queues.measured(first)["cycles"] == 15445  # as in test_published_attention
