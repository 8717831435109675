"""The page of StreamTensor's models is that of the result files, and its models are those of the published table."""

from __future__ import annotations

from experiments.rows import RESULTS
from experiments.streamtensor.models import MODELS
from experiments.streamtensor.page import PAGE, page
from experiments.streamtensor.points import prompts, tokens


def test_the_page_is_that_of_the_results() -> None:
    assert page(RESULTS) == PAGE.read_text()
    assert len(PAGE.read_text().split()) <= 1200


def test_a_token_of_gpt2_reads_its_published_weights() -> None:
    assert MODELS["gpt2"].weights == 24 * 12 * 1024 * 1024  # 302 M
    assert MODELS["gpt2"].weights / 2 / 460e9 < 0.33e-3


def test_points_have_names_of_their_own() -> None:
    names = [each.name for each in (*tokens(), *prompts())]
    assert len(set(names)) == len(names)
