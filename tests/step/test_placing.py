"""Programs on a grid, and the cycles that distance takes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from commanding import Step

import step
from step.errors import FormatError, InputError
from step.programs.files.fitted import FittedFile
from step.programs.program import load_program
from step_explore.placing.anneal import anneal, routes
from step_explore.placing.grid import MEMORY, OTHER, PRODUCT, VECTOR, Grid
from step_explore.placing.placement import passing

EXAMPLES = Path(__file__).parents[2] / "examples"


def length(places: list[tuple[int, int]], pulls: list[tuple[int, int, float]]) -> float:
    return sum(weight * np.abs(np.subtract(places[one], places[other])).sum().item() for one, other, weight in pulls)


def test_a_chain_lies_along_a_path() -> None:
    """Of 16 blocks, all beside each other, whatever the seed."""
    pulls = [(at, at + 1, 1.0) for at in range(15)]
    first, *others = (anneal(OTHER * 16, pulls, Grid.of(4, 4), 1, seed) for seed in (0, 0, 1, 2))
    for places in (first, *others):
        assert sorted(places) == [(column, row) for column in range(4) for row in range(4)]
        assert length(places, pulls) <= 17
    assert first == others[0] != others[1]


def test_what_pulls_more_is_nearer() -> None:
    pulls = [(0, each, 1.0) for each in range(1, 9)]
    for dear in (3, 8):
        places = anneal(OTHER * 9, [*pulls, (0, dear, 20.0)], Grid.of(3, 3), 1, seed=0)
        assert length(places, [(0, dear, 1.0)]) == 1


def test_annealing_is_near_the_best() -> None:
    """A mesh of 20x20 blocks, which has one on 20x20 places, is at most half longer; random places are 13 times."""
    pulls = [(at, at + 1, 1.0) for at in range(400) if (at + 1) % 20]
    pulls += [(at, at + 20, 1.0) for at in range(380)]
    assert length(anneal(OTHER * 400, pulls, Grid.of(20, 20), 1, seed=0), pulls) <= 1.5 * len(pulls)


def test_blocks_stand_where_they_may() -> None:
    """Products beside memories, in a row each; what is of no kind that is there has the others."""
    grid = Grid(("PPP.", "MMM*", "***V"))
    kinds = PRODUCT * 3 + MEMORY * 3 + VECTOR * 2 + OTHER * 2
    places = anneal(kinds, [(at, at + 3, 1.0) for at in range(3)], grid, 1, seed=3)
    letters = [grid.places[row][column] for column, row in places]
    assert letters[:6] == [*"PPPMMM"] and sorted(letters[6:]) == [*"***V"] and len(set(places)) == 10
    assert all(one[0] == other[0] for one, other in zip(places[:3], places[3:6], strict=True))


def test_dies_keep_together_what_is_coupled() -> None:
    """Two meshes with one channel between them are on a die each."""
    meshes = [(at, other, 1.0) for at in range(16) for other in (at + 1, at + 4) if other // 8 == at // 8]
    grid = Grid.of(4, 4)
    grid = Grid(grid.places, dies=(2,), crossing=9)
    assert grid.along(2) == ([0, 2, 4, 6], [0, 2, 11, 13])
    rows = [row for _, row in anneal(OTHER * 16, [*meshes, (7, 8, 1.0)], grid, 2, seed=0)]
    assert len({row // 2 for row in rows[:8]}) == len({row // 2 for row in rows[8:]}) == 1


def test_routes_get_out_of_the_way() -> None:
    """Three channels along a row of three, one track each: one goes there, the others around."""
    ends, grid = [((0, 1), (2, 1))] * 3, Grid.of(3, 3)
    free = routes(ends, [1, 1, 1], grid, 1)
    assert [len(each) for each in free] == [3, 3, 3] and max(passing(free).values()) == 3
    for urgent in range(3):
        weights = [50.0 if each == urgent else 1.0 for each in range(3)]
        found = routes(ends, weights, replace(grid, tracks=1), 1)
        assert set(passing(found).values()) == {1}
        assert [len(each) for each in found] == [3 if each == urgent else 5 for each in range(3)]
        assert all(each[0] == (0, 1) and each[-1] == (2, 1) for each in found)


def test_a_placed_program() -> None:
    program = load_program(str(EXAMPLES / "softmax.py"))
    placed = step.place(program, (5, 6), hop=2, seed=1)
    fabric = placed.program.fabric
    assert {each.name: 2 * placed.steps(each) for each in placed.netlist.channels} == fabric.hops
    assert placed.cycles == min(placed.tried) and len(placed.tried) == 4
    assert placed.near == step.run(program, "approx").cycles
    assert placed.cycles == step.run(placed.program, "approx", engine="python").cycles
    together = Counter(placed.places.values())
    assert together.pop(placed.places["held_x"]) == 4 and set(together.values()) == {1}
    assert all(column < 5 and row < 6 for column, row in placed.places.values())
    assert placed.file().applied(program).fabric == fabric
    assert repr(placed) == f"<softmax on 5x6: {placed.cycles} cycles, 214 without distance>"


def test_a_program_on_a_typed_floor(tmp_path: Path) -> None:
    """Each unit stands where its kind may; steps over a die's end have the hops of the crossing."""
    grid = Grid(("LLLL***", "VVVVVV*", "VVM****", "*******"), dies=(2,), crossing=5, tracks=4)
    grid.save(tmp_path / "grid.json")
    assert Grid.load(tmp_path / "grid.json") == grid
    placed = step.place(EXAMPLES / "softmax.py", tmp_path / "grid.json")
    assert placed.grid == grid and max(placed.passing.values()) <= 4
    units = placed.netlist.graph.nodes
    for name, (column, row) in placed.places.items():
        letter, together = grid.places[row][column], placed.places[name] == placed.places["held_x"]
        assert letter == "*" or (letter == "M") == together
        assert letter != "V" or units[name].operator.function is not None
    crossed = [each for each in placed.routes.values() if len({row // 2 for _, row in each}) == 2]
    assert crossed
    for each in placed.netlist.channels:
        rows = [row for _, row in placed.routes[each.name]]
        crossings = sum({one, other} == {1, 2} for one, other in pairwise(rows))
        assert each.hops == placed.steps(each) + 4 * crossings
    assert placed.cycles == step.run(placed.program, "approx", engine="python").cycles
    fewer = step.place(EXAMPLES / "softmax.py", tmp_path / "grid.json", tracks=3)
    assert fewer.grid.tracks == 3 and max(fewer.passing.values()) <= 3


@cases(
    (lambda: Grid(()), "places must have a row"),
    (lambda: Grid(("**", "*")), "places[1] must have 2 places, as the first row has, not 1"),
    (lambda: Grid(("*Q",)), "places[0] must be of the letters P, V, M, L, C, *, ., not 'Q'"),
    (lambda: Grid(("*", "*"), dies=(2,)), "dies[0] must be a row above those before and below 2, not 2"),
    (lambda: Grid(("*",) * 4, dies=(2, 1)), "dies[1] must be a row above those before and below 4, not 1"),
    (lambda: Grid(("*", "*"), dies=(1,), crossing=-1), "crossing must be an integer >= 0, not -1"),
    (lambda: Grid(("*", "*"), crossing=2), "crossing=2 has no effect without dies"),
    (lambda: Grid(("*",), tracks=0), "tracks must be an integer >= 1 or None, not 0"),
    (lambda: Grid.of(0, 3), "a side of a grid must be an integer >= 1, not 0"),
    (lambda: Grid.of(1025, 3), "a side of a grid must be at most 1,024, not 1,025"),
    (
        lambda: step.place(EXAMPLES / "softmax.py", (4, 4)),
        "a grid of 4x4 has 16 places, and softmax needs 24, as for 5x5",
    ),
    (
        lambda: step.place(EXAMPLES / "softmax.py", Grid(("VVVV", "****"))),
        "the grid has too few places for softmax: 14 other units (C) on 0, 2 loads and stores (L) on 0, "
        "1 on-chip memories (M) on 0, 7 vector units (V) on 4, and 4 for any unit (*)",
    ),
    (lambda: step.place(EXAMPLES / "softmax.py", tracks=0), "tracks must be an integer >= 1 or None, not 0"),
)
def test_bad_grids(make: Callable[[], object], text: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert str(error.value) == text


def test_the_grid_of_the_docs(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", (EXAMPLES.parent / "docs" / "fit.md").read_text(), re.DOTALL)
    (tmp_path / "grid.json").write_text(shown)
    placed = step.place(EXAMPLES / "softmax.py", tmp_path / "grid.json")
    assert str(placed.grid) == "6x5" and max(placed.passing.values()) <= 4


def test_too_few_tracks() -> None:
    """It says where they are too few, and how many would do: so many do."""
    with pytest.raises(InputError) as error:
        step.place(EXAMPLES / "softmax.py", (5, 5), tracks=1)
    said = re.fullmatch(
        r"the channels of softmax do not fit into tracks=1 on 5x5: (\d) pass between column \d, row \d and column \d, "
        r"row \d; with tracks=\1 they do",
        str(error.value),
    )
    assert said and max(step.place(EXAMPLES / "softmax.py", (5, 5), tracks=int(said[1])).passing.values()) > 1


def test_a_bad_file_of_a_grid(tmp_path: Path) -> None:
    file = tmp_path / "grid.json"
    for content, text in (
        ('"places": ["*X"]', "$.places[0]: '*X' does not match '^[PVMLC*.]+$'"),
        ('"places": ["*", "*"], "dies": [1]', "$: 'crossing' is a dependency of 'dies'"),
    ):
        file.write_text(f'{{"format": "step-grid-1", {content}}}')
        with pytest.raises(FormatError) as error:
            step.place(EXAMPLES / "softmax.py", file)
        assert str(error.value) == f"{file}: {text}"


def test_the_verb(tmp_path: Path, step: Step) -> None:
    file, picture = tmp_path / "placed.json", tmp_path / "floor.svg"
    asked = ["place", str(EXAMPLES / "softmax.py"), "--hop", "3", "--save", str(file), "--plot", str(picture)]
    said = step(*asked).ok()
    kept = FittedFile.load(file)
    assert said.startswith(f"softmax on 5x5: 214 cycles without distance, {kept.cycles} with it\n")
    assert re.search(r"\nat most \d channels side by side, at \d+ of the ways between places\n", said)
    svg = picture.read_text()
    assert all(f">{name}<" in svg for name in ("load_x", "held_x and 3 more", "quotients"))
    grid = tmp_path / "grid.json"
    Grid(("*" * 6,) * 5, dies=(3,), crossing=4, tracks=2).save(grid)
    plain = step(*asked[:2], "--grid", str(grid), "--tracks", "3", "--plot", str(picture), "--json")
    found = json.loads(plain.out)
    assert found["tracks"] <= 3 and found["cycles"] == min(found["tried"]) and found["grid"] == [6, 5]
    assert "on 3 tracks" in picture.read_text()
    run = step("run", EXAMPLES / "softmax.py", "--backend", "approx", "--fitted", file).ok()
    assert run.startswith(f"softmax on approx (compiled engine): {kept.cycles} cycles\n")
