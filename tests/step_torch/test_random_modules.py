"""Modules of torch at random: as exact as torch, the same by other tiles, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import step
import step_torch
from step.errors import InputError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from random_modules import written  # noqa: E402

TILINGS = (step_torch.Tiling(), step_torch.Tiling(rows=3, columns=2, depth=2), step_torch.Tiling(rows=1, held=False))
BLOCK = 25


def agrees(seed: int, path: Path) -> bool:
    """Whether the module of ``seed`` imports; fails where it is another one then."""
    made = written(seed)
    if not made.lines:
        return False
    module, given = made.made(), tuple(made.inputs.values())
    rounded = module(*given)
    try:
        step_torch.capture(module, given, path)
        models = [step_torch.load(path, tiling=each) for each in TILINGS]
    except InputError:
        return False
    exact = module.double()(*(each.double() if each.is_floating_point() else each for each in given))
    pairs = zip(*([each] if isinstance(each, torch.Tensor) else each for each in (exact, rounded)), strict=True)
    runs = [step.run(each.program, "interpret") for each in models]
    for name, (one, theirs) in zip(models[0].nodes.output_names, pairs, strict=True):
        mine, *others = (np.asarray(run.outputs[name]).astype(np.float64).ravel() for run in runs)
        one, theirs = (each.double().numpy().ravel() for each in (one, theirs))
        error, allowed = (np.sqrt(((each - one) ** 2).mean()) for each in (mine, theirs))
        assert error <= max(1.6 * allowed, 0.004 * np.abs(one).max(), 1e-6), (seed, name, mine, one, made.source)
        if "attention" not in made.source:  # whose sums go over tiles
            assert all(np.array_equal(mine, each) for each in others), (seed, name, made.source)
    return True


@pytest.mark.parametrize("block", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 40))])
def test_random_modules(block: int, tmp_path: Path) -> None:
    imported = [agrees(BLOCK * block + each, tmp_path / "model.pt2") for each in range(BLOCK)]
    assert sum(imported) >= BLOCK * 2 // 3
