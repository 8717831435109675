"""Units that all products of a layer share: what is written is as with units of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raising import raising

import step_torch
from step import load_program
from step.errors import InputError
from step.programs.data.equality import same
from step_torch import Tiling
from step_torch.batch import SKEW, rounds, turns, waits
from step_torch.generating import SMALL, LanguageModel, run

CAPTURED = Path(__file__).parent / "captured"
MODELS = sorted((CAPTURED / "w4a8").glob("*.pt2"))


def outputs(model: LanguageModel, backend: str, **options: Any) -> dict[str, bytes]:
    """Tokens and caches behind a prompt."""
    prompt = np.random.default_rng(0).integers(model.vocabulary, size=9).tolist()
    found = run(model.program(prompt, 3, **options), backend).outputs
    return {name: np.asarray(each).tobytes() for name, each in found.items()}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("chunk", [1, 4])
def test_they_write_what_others_write(path: Path, chunk: int) -> None:
    """With one unit, and several whose tiles have columns that are padding."""
    model = LanguageModel.load(path)
    meant = outputs(model, "approx", chunk=chunk)
    for tiling in (Tiling(shared=True), Tiling(shared=True, side_by_side=4, columns=24)):
        for backend in ("approx", "interpret"):
            assert outputs(model, backend, chunk=chunk, tiling=tiling) == meant


def test_several_texts_at_a_time() -> None:
    """Rows of all slots are a tile."""
    model, prompts = LanguageModel.load(MODELS[0]), [[3, 1, 4], [1, 5]]
    found = [
        run(model.program(prompts, 3, tiling=tiling), "approx").outputs
        for tiling in (Tiling(), Tiling(shared=True, side_by_side=2))
    ]
    assert all(np.asarray(each).tobytes() == np.asarray(found[1][name]).tobytes() for name, each in found[0].items())


def test_turns_come_before_what_waits_for_them() -> None:
    """In every product by rounds, and each round behind its rows."""
    for given, steps, layers, products in ((5, 8, 3, 4), (1, 3, 2, 3), (9, 10, 6, 4), (4, 6, 1, 2)):
        found = _order(given, steps, layers, products)
        place = {each: at for at, each in enumerate(found)}
        for number, before in enumerate(_before(given, steps, layers)):
            own = [place[product, number] for product in range(products)]
            assert own == sorted(own) and (before < 0 or place[products - 1, before] < own[0])
    found = _order(16, 17, 8, 4)  # rounds amid the prompt
    assert all(found.index((1, each)) > found.index((0, each + SKEW - 1)) for each in range(40, 80))


def _before(given: int, steps: int, layers: int) -> list[int]:
    step, layer = np.array(rounds(given, steps, layers)).T
    return waits(given, step, layer)


def _order(given: int, steps: int, layers: int, products: int) -> list[tuple[int, int]]:
    """The product and the round of every turn."""
    seen, found = [0] * products, []
    for part in turns(_before(given, steps, layers), products):
        assert part[0] == 0
        for each in part:
            found.append((each, seen[each]))
            seen[each] += 1
    assert len({*seen}) == 1
    return found


def test_what_has_no_shared_units() -> None:
    page, tiny = CAPTURED / "page.pt2", sorted((CAPTURED / "language").glob("*.pt2"))[0]
    with raising(InputError, f"'{page}' writes no tokens: units are shared in a layer of a language model"):
        step_torch.load(page, tiling=Tiling(shared=True))
    model, message = (
        LanguageModel.load(tiny),
        f"'{tiny}' has no products of integers in a layer, whose units could be shared",
    )
    with raising(InputError, message):
        model.program([1], 2, tiling=Tiling(shared=True))
    with raising(InputError, message):  # as experiments make programs, without inputs
        model._program(Tiling(shared=True), SMALL, 1, 1, values=False, is_drawn=False, with_scores=False)


def test_a_program_as_a_file(tmp_path: Path) -> None:
    """Rows of a chunk, which are fed back as a tile, are there in the mean."""
    tiling = Tiling(shared=True, side_by_side=2)
    program = LanguageModel.load(MODELS[0]).program([3, 1, 4, 1, 5], 3, chunk=4, tiling=tiling)
    program.save(tmp_path / "program.json")
    found = [run(each, "approx") for each in (program, load_program(tmp_path / "program.json"))]
    assert found[0].cycles == found[1].cycles
    values = [{name: np.asarray(each) for name, each in one.outputs.items()} for one in found]
    assert same(*values)


@pytest.mark.large
def test_they_are_so_in_rtl() -> None:
    """Cycles and outputs of the fast model."""
    program = LanguageModel.load(MODELS[0]).program(
        [3, 1, 4, 1, 5], 3, chunk=4, tiling=Tiling(shared=True, side_by_side=2)
    )
    timed, built = (run(program, backend) for backend in ("approx", "rtl"))
    assert timed.cycles == built.cycles
    assert all(
        np.asarray(each).tobytes() == np.asarray(built.outputs[name]).tobytes() for name, each in timed.outputs.items()
    )
