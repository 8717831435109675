"""The page of StreamTensor's models is that of the result files, and its models are those of the published table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments.rows import RESULTS
from experiments.streamtensor import small
from experiments.streamtensor.models import MODELS
from experiments.streamtensor.page import PAGE, page
from experiments.streamtensor.points import prompts, tokens


def test_the_page_is_that_of_the_results() -> None:
    assert page(RESULTS) == PAGE.read_text()
    assert len(PAGE.read_text().split()) <= 1200


@pytest.mark.parametrize("path", sorted(RESULTS.glob("streamtensor_*.csv")), ids=lambda path: path.stem)
def test_rows_of_every_file_are_on_the_page(path: Path, tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    rows = path.read_text().splitlines(keepends=True)
    (tmp_path / path.name).write_text("".join(rows[:-1]))
    assert page(tmp_path) != page(RESULTS)


def test_small_sizes_are_equal_in_rtl() -> None:
    for row in small.CAMPAIGN.read(RESULTS, "small"):
        assert (row["passed"], row["off"], row["rtl_cycles"]) == ("True", "0", row["model_cycles"])


def test_a_token_of_gpt2_reads_its_published_weights() -> None:
    assert MODELS["gpt2"].weights == 24 * 12 * 1024 * 1024  # 302 M
    assert MODELS["gpt2"].weights / 2 / 460e9 < 0.33e-3


def test_points_have_names_of_their_own() -> None:
    names = [each.name for each in (*tokens(), *prompts())]
    assert len(set(names)) == len(names)
