"""Programs on a grid, and the cycles that distance takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from commanding import Step

import step
from step.errors import InputError
from step.programs.files.fitted import FittedFile
from step.programs.program import load_program
from step_explore.placing.anneal import anneal

EXAMPLES = Path(__file__).parents[2] / "examples"


def length(places: list[tuple[int, int]], pulls: list[tuple[int, int, float]]) -> float:
    return sum(weight * np.abs(np.subtract(places[one], places[other])).sum().item() for one, other, weight in pulls)


def test_a_chain_lies_along_a_path() -> None:
    """Of 16 blocks, all beside each other, whatever the seed."""
    pulls = [(at, at + 1, 1.0) for at in range(15)]
    for seed in range(3):
        places = anneal(16, pulls, 4, 4, seed)
        assert sorted(places) == [(column, row) for column in range(4) for row in range(4)]
        assert length(places, pulls) <= 17
        assert places == anneal(16, pulls, 4, 4, seed)
    assert anneal(16, pulls, 4, 4, 0) != anneal(16, pulls, 4, 4, 1)


def test_what_pulls_more_is_nearer() -> None:
    pulls = [(0, each, 1.0) for each in range(1, 9)]
    for dear in (3, 8):
        places = anneal(9, [*pulls, (0, dear, 20.0)], 3, 3, seed=0)
        assert length(places, [(0, dear, 1.0)]) == 1


def test_a_placed_program() -> None:
    program = load_program(str(EXAMPLES / "softmax.py"))
    placed = step.place(program, (5, 6), hop=2, seed=1)
    fabric = placed.program.fabric
    assert {each.name: 2 * placed.steps(each) for each in placed.netlist.channels} == fabric.hops
    assert placed.near == step.run(program, "approx").cycles
    assert placed.cycles == step.run(placed.program, "approx", engine="python").cycles
    together = Counter(placed.places.values())
    assert together.pop(placed.places["held_x"]) == 4 and set(together.values()) == {1}
    assert all(column < 5 and row < 6 for column, row in placed.places.values())
    assert placed.file().applied(program).fabric == fabric
    assert repr(placed) == f"<softmax on 5x6: {placed.cycles} cycles, 214 without distance>"


def test_a_grid_that_is_too_small() -> None:
    with pytest.raises(InputError) as error:
        step.place(EXAMPLES / "softmax.py", (4, 4))
    assert str(error.value) == "a grid of 4x4 has 16 places, and softmax needs 24, as for 5x5"


def test_the_verb(tmp_path: Path, step: Step) -> None:
    file, picture = tmp_path / "placed.json", tmp_path / "floor.svg"
    asked = ["place", str(EXAMPLES / "softmax.py"), "--hop", "3", "--save", str(file), "--plot", str(picture)]
    said = step(*asked).ok()
    kept = FittedFile.load(file)
    assert said.startswith(f"softmax on 5x5: 214 cycles without distance, {kept.cycles} with it\n")
    svg = picture.read_text()
    assert all(f">{name}<" in svg for name in ("load_x", "held_x and 3 more", "quotients"))
    run = step("run", EXAMPLES / "softmax.py", "--backend", "approx", "--fitted", file).ok()
    assert run.startswith(f"softmax on approx (compiled engine): {kept.cycles} cycles\n")
