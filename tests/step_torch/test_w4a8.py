"""The tiny language models in W4A8: they write what torch writes with integers, the same on all engines and in RTL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import step
from step_torch.agreement import agreements
from step_torch.choosing import products
from step_torch.generating import LanguageModel, run

STORED = sorted((Path(__file__).parent / "captured" / "w4a8").glob("*.pt2"))


@pytest.fixture(scope="module", params=STORED, ids=lambda path: path.stem)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    """A model whose linear layers, and routed experts, have weights of 4 bits."""
    return LanguageModel.load(request.param)


def test_weights_are_packed(model: LanguageModel) -> None:
    """Two in a byte, and a scale of two bytes for 32 of them."""
    found = products(model.nodes, model.archive.weights)
    assert len([each for each in found if each.whole]) >= 9
    assert all(each.bytes == each.depth * each.columns * (1 / 2 + 2 / 32) for each in found if each.whole)
    program = model.program([3], 1)
    kept = [each for name, each in program.graph.tensors.items() if each.dtype is step.INT8]
    assert len(kept) >= 5 and all(program.inputs[each.name].dtype == np.int8 for each in kept)


def test_it_writes_what_torch_writes_with_integers(model: LanguageModel) -> None:
    """95 % of the tokens, and others only where the scores of torch nearly tie."""
    for found in agreements(model):
        assert found.agreed >= 0.95 * found.count
        assert all(each.margin < 0.25 for each in found.differences)


def outputs(model: LanguageModel, backend: str) -> dict[str, bytes]:
    (text, *_) = model.archive.texts
    found = run(model.program(text.prompt, 4), backend).outputs
    return {name: np.asarray(each).tobytes() for name, each in found.items()}


def test_engines_agree(model: LanguageModel) -> None:
    assert outputs(model, "interpret") == outputs(model, "approx")


@pytest.mark.large
def test_the_hardware_agrees(model: LanguageModel) -> None:
    """In tokens and caches, and in cycles."""
    (text, *_) = model.archive.texts
    program = model.program(text.prompt, 4)
    timed, built = run(program, "approx"), run(program, "rtl")
    assert timed.cycles == built.cycles
    assert {name: np.asarray(each).tobytes() for name, each in built.outputs.items()} == outputs(model, "interpret")
