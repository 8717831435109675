"""Tokens that are drawn are those of a twin in PyTorch, whose random numbers are written once more, too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import step
from step_torch.text import TextModel

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

ROTATIONS, WORD = (13, 15, 26, 6, 17, 29, 16, 24), 2**32 - 1


def random(seed: int, number: int) -> float:
    """The first word of Threefry-2x32 with 20 rounds (Salmon et al., SC 2011), as a part of one."""
    keys = seed, 0, seed ^ 0x1BD11BDA
    x, y = number + keys[0] & WORD, keys[1]
    for at in range(20):
        turn = ROTATIONS[at % 8]
        x = x + y & WORD
        y = (y << turn | y >> 32 - turn) & WORD ^ x
        if at % 4 == 3:
            turned = at // 4 + 1
            x, y = x + keys[turned % 3] & WORD, y + keys[(turned + 1) % 3] + turned & WORD
    return x / 2**32


def drawn(scores: Tensor, part: float, temperature: float, top_k: int, top_p: float) -> int:
    """Softmax, its largest shares, as few of these as have the wanted part, and the first that ``part`` reaches."""
    shares, tokens = torch.softmax(scores.double() / temperature, -1).sort(descending=True, stable=True)
    shares = shares[:top_k] / shares[:top_k].sum()
    few = int((shares.cumsum(-1) < top_p).sum()) + 1
    sums = shares[:few].cumsum(-1)
    return int(tokens[int((sums < part * sums[-1]).sum())])


@pytest.fixture(scope="module")
def tiny() -> TextModel:
    """The model of the examples."""
    return TextModel.load(Path(step.__file__).parents[1] / "examples" / "tiny_lm")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("temperature", "top_k", "top_p"), [(1.0, 64, 1.0), (3.0, 8, 1.0), (4.0, 32, 0.8)])
def test_the_same_tokens(tiny: TextModel, temperature: float, top_k: int, top_p: float, seed: int) -> None:
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    _, run = tiny.generate("every tile", 20, scores=True, **options)
    rows = torch.from_numpy(tiny.model.scores(run))
    mine = [drawn(row, random(seed, 9 + at), temperature, top_k, top_p) for at, row in enumerate(rows)]
    assert mine == np.asarray(run.outputs["tokens"]).reshape(-1).tolist()
