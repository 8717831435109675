"""A GPT-2 of random weights, whose positions are rows of a table, writes what transformers writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import step
from step_torch.generating import LanguageModel

PATH = Path(__file__).parent / "captured" / "language" / "gpt2.pt2"
WRITTEN: list[tuple[list[int], list[int]]] = json.loads(PATH.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    """The stored one."""
    return LanguageModel.load(PATH)


def test_the_model_is_small() -> None:
    assert PATH.stat().st_size <= 60_000
    assert all(len(set(tokens)) >= 5 for _, tokens in WRITTEN)


@pytest.mark.parametrize(
    "prompt", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_it_writes_what_transformers_writes(model: LanguageModel, prompt: int) -> None:
    """Up to the last row of its caches; and the interpreter the first tokens."""
    given, theirs = WRITTEN[prompt]
    assert len(given) + len(theirs) == model.room + 1
    run = step.run(model.program(given, len(theirs)), "approx", values="all")
    mine = np.asarray(run.outputs["tokens"]).reshape(-1)[len(given) - 1 :].tolist()
    agree = sum(one == other for one, other in zip(mine, theirs, strict=True))
    assert agree >= 0.95 * len(theirs)
    meant = step.run(model.program(given, 6), "interpret")
    assert np.asarray(meant.outputs["tokens"]).reshape(-1)[len(given) - 1 :].tolist() == mine[:6]
