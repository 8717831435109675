"""Models of random weights write what transformers writes: GPT-2, Gemma, and Llamas of four layers and of one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import step
from step_torch.batch import rounds
from step_torch.generating import LanguageModel

STORED = sorted((Path(__file__).parent / "captured" / "language").glob("*.pt2"))
LAYERS = {"deep": 4, "flat": 1, "gemma": 1, "gpt2": 2}


def written(model: LanguageModel, prompt: list[int], count: int, backend: str) -> list[int]:
    """What it writes behind ``prompt``; the caches are those of the interpreter."""
    options = {} if backend == "interpret" else {"values": "all"}
    run = step.run(model.program(prompt, count), backend, **options)
    return model.batch(prompt, count).written(run.outputs["tokens"], 0)


def test_the_models_are_small() -> None:
    assert {path.stem for path in STORED} == LAYERS.keys()
    assert all(path.stat().st_size <= 60_000 for path in STORED)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "number", [2, pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)]
)
def test_it_writes_what_transformers_writes(path: Path, number: int) -> None:
    """Behind each token of that, up to the last row of its caches; and by itself the first ones, on both engines."""
    model = LanguageModel.load(path)
    prompt, theirs = json.loads(path.with_suffix(".json").read_text())[number]
    assert model.parts.count == LAYERS[path.stem] and len(prompt) + len(theirs) >= model.room
    run = step.run(model.program(prompt + theirs[:-1], 1, every=True), "approx", values="all")
    mine = np.asarray(run.outputs["tokens"]).reshape(-1)[len(prompt) - 1 :].tolist()
    agree = [one == other for one, other in zip(mine, theirs, strict=True)]
    assert sum(agree) >= 0.95 * len(theirs) and len(set(theirs)) >= 5
    assert written(model, prompt, 3, "interpret") == written(model, prompt, 3, "approx")


def test_rows_of_a_prompt_are_in_all_layers_at_once() -> None:
    """Each in another one, the first token in front; what is written comes when they are through."""
    assert rounds(given=3, steps=4, layers=3) == [
        *[(0, 0)], *[(0, 1), (1, 0)], *[(0, 2), (1, 1), (2, 0)], *[(1, 2), (2, 1)], *[(2, 2)],
        *[(3, 0), (3, 1), (3, 2)],
    ]  # fmt: skip
    (deep,) = [path for path in STORED if path.stem == "deep"]
    model = LanguageModel.load(deep)
    few, many = (step.run(model.program([9] * count, 1), "approx").cycles for count in (8, 40))
    single = step.run(model.program([9], 1), "approx").cycles
    assert (many - few) / 32 < 0.5 * single


def test_every_token_of_a_prompt_can_be_asked() -> None:
    """The program is the same: only what it is given says so."""
    (deep,) = [path for path in STORED if path.stem == "deep"]
    model = LanguageModel.load(deep)
    prompt, theirs = json.loads(deep.with_suffix(".json").read_text())[0]
    asked, plain = (model.program(prompt + theirs[:5], 2, every=every) for every in (True, False))
    assert asked.graph.nodes.keys() == plain.graph.nodes.keys()
    all_of_them, last = (
        np.asarray(step.run(each, "approx", values="all").outputs["tokens"]).reshape(-1).tolist()
        for each in (asked, plain)
    )
    assert all_of_them[2:] == theirs[:7] and last == theirs[5:7]
