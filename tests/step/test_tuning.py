"""Tuning: budgets, legal values, fitted choices, several cases, Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from filing import filed
from progress_lines import interrupting
from raising import raising

import step
from step.errors import FormatError, InputError
from step_explore.fitting import fitting
from step_explore.sweeps.front import pareto_front
from step_explore.sweeps.row import BOUNDED, OVER, Row
from step_explore.tuning import trial
from step_explore.tuning.budget import Budget

PROGRAM = """
from step import FP32, Graph, Program, Tile
from step.errors import InputError
from step.functions import Add, Mul

def program(rows=4, wide=1, seed=0):
    if 12 % wide:
        raise InputError(f"12 columns can not be dealt evenly to {wide}")
    graph = Graph("sums")
    x = graph.source("x", Tile(FP32, 1, 12 // wide), [rows + seed, wide])
    x.map(Mul(), x).accum(Add()).buffered(4).sink("y")
    return Program(graph, {"x": [[[[1.0] * (12 // wide)]] * wide] * (rows + seed)})
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return str(filed(tmp_path / "sums.py", PROGRAM))


def tuned(spec: str, over: dict[str, Any], **options: Any) -> step.Tuned:
    return step.tune(spec, over, jobs=1, **{"within": None, **options})


def test_values_that_make_a_program(spec: str) -> None:
    found = tuned(spec, {"wide": "1..8:legal", "rows": [2]})
    assert [row.point["wide"] for row in found.rows] == [1, 2, 3, 4, 6]
    with raising(
        InputError, "no wide from 7 to 8 makes a program; of the last one: 12 columns can not be dealt evenly to 8"
    ):
        tuned(spec, {"wide": "7..8:legal"})
    with pytest.raises(InputError, match=r"wide=8..7:legal has no values, or more than 4,096"):
        tuned(spec, {"wide": "8..7:legal"})


def test_a_budget_says_what_is_over_it(spec: str) -> None:
    free = tuned(spec, {"rows": [2, 4, 8]})
    cycles = [row.cycles or 0 for row in free.rows]
    found = tuned(spec, {"rows": [2, 4, 8]}, budget={"cycles": cycles[1]})
    assert [row.status for row in found.rows] == ["finished", "finished", OVER]
    assert found.rows[2].error == f"over the budget: cycles {cycles[2]:,} of {cycles[1]:,}"
    assert found.best().point == {"rows": 2} and all(row.status != OVER for row in found.front)
    none = tuned(spec, {"rows": [2]}, budget={"memory_bytes": 1, "lut_sites": 2})
    with pytest.raises(InputError, match="no point of this sweep has cycles") as caught:
        none.best()
    assert caught.value.__notes__ == [f"  {none.rows[0].error}"]


def test_memory_counts_the_fifos(spec: str) -> None:
    (row,) = tuned(spec, {"rows": [2]}).rows
    both = (row.on_chip_bytes or 0) + (row.channel_bytes or 0) + (row.load_bytes or 0)
    assert row.channel_bytes and tuned(spec, {"rows": [2]}, budget={"memory_bytes": both}).rows[0].status == "finished"
    assert tuned(spec, {"rows": [2]}, budget={"memory_bytes": both - 1}).rows[0].status == OVER


def test_the_worst_and_the_mean_of_cases(spec: str) -> None:
    each = [tuned(spec, {"rows": [4]}, arguments={"seed": seed}).rows[0].cycles for seed in (0, 4)]
    cases = [{"seed": 0}, {"seed": 4}]
    assert tuned(spec, {"rows": [4]}, cases=cases).rows[0].cycles == max(each)
    assert tuned(spec, {"rows": [4]}, cases=cases, judge="mean").rows[0].cycles == round(sum(each) / 2)


def test_each_choice_has_hardware_of_its_own(spec: str) -> None:
    wide, fitted = (tuned(spec, {"rows": [16]}, within=within, runs=0) for within in (None, 0.05))
    assert 0 < (fitted.rows[0].lut_sites or 0) < (wide.rows[0].lut_sites or 0)
    assert (fitted.rows[0].cycles or 0) <= 1.05 * (wide.rows[0].cycles or 0)
    best = fitted.fitted()
    assert step.run(best, "approx").cycles == fitted.rows[0].cycles and best.fabric != step.FabricConfig()
    over = tuned(spec, {"rows": [16]}, within=0.05, runs=0, budget={"lut_sites": 1}).rows[0]
    assert over.status == OVER and over.error == f"over the budget: lut_sites at least {over.lut_sites:,} of 1"


CHAIN = """
from step import FP32, Graph, Program, Tile
from step.functions import Mul

def program(stages=1, rows=4):
    graph = Graph("chain")
    x = graph.source("x", Tile(FP32, 1, 12), [rows])
    for _ in range(stages):
        x = x.map(Mul(), x)
    x.sink("y")
    return Program(graph, {"x": [[[1.0] * 12]] * rows})
"""


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of programs that are fitted from now on."""
    made, fit = list[str](), trial.fit
    monkeypatch.setattr(trial, "fit", lambda program, **options: made.append(program.name) or fit(program, **options))
    return made


def test_what_can_only_be_worse_is_not_fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front is that of all fits, the rest has bounds below what a fit gives, and the file is no reason to fit."""
    path, over = tmp_path / "chain.py", {"stages": [8, 1, 4, 2], "rows": [32, 8]}
    path.write_text(CHAIN)
    all_of_them = {
        tuple(point.values()): tuned(str(path), {name: [value] for name, value in point.items()}, within=0.05, runs=0)
        for point in ({"stages": stages, "rows": rows} for stages in over["stages"] for rows in over["rows"])
    }
    rows = [each.rows[0] for each in all_of_them.values()]
    made = counted(monkeypatch)
    options: dict[str, Any] = {"within": 0.05, "runs": 0, "save": tmp_path / "rows.csv"}
    found = tuned(str(path), over, **options)
    left = [row for row in found.rows if row.status == BOUNDED]
    assert len(left) == 8 - len(made) >= 4
    front = pareto_front(rows, ("cycles", "lut_sites"))
    assert [(each.point, each.cycles, each.lut_sites) for each in found.front] == [
        (each.point, each.cycles, each.lut_sites) for each in front
    ]
    for row in left:
        (fitted,) = all_of_them[tuple(row.point.values())].rows
        assert row.cycles is not None and row.cycles <= (fitted.cycles or 0)
        assert row.lut_sites is not None and row.lut_sites <= (fitted.lut_sites or 0)
        assert row.lanes is not None and row.lanes <= (fitted.lanes or 0)
        assert row.error is not None and row.error.startswith(
            f"not fitted: with any hardware at least cycles {row.cycles:,}, lut_sites {row.lut_sites:,}, of which "
        )
    assert found.best().point == front[0].point
    count = len(made)
    assert len(tuned(str(path), over, **options).rows) == 8 and len(made) == count


def test_what_is_over_the_budget_anyway_is_not_fitted(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    found = tuned(spec, {"rows": [2, 4]}, within=0.05, budget={"lut_sites": 1, "cycles": 2})
    assert not made and [row.error for row in found.rows] == [
        f"over the budget: lut_sites at least {row.lut_sites:,} of 1, cycles at least {row.cycles:,} of 2"
        for row in found.rows
    ]


@cases(
    ({"budget": {"cycles": 5}}, "a budget of cycles=90, but now there is a budget of cycles=5"),
    ({"within": 0.1, "runs": 3}, "hardware as it is, but now there is hardware within 10 %, by 3 runs"),
    ({"cases": [{"seed": 1}, {"seed": 2}], "judge": "mean"},
     "cases none; their worst, but now there is cases seed=1 and seed=2; their mean"),
)  # fmt: skip
def test_a_file_of_another_search(changed: dict[str, Any], difference: str, spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    options: dict[str, Any] = {"save": path, "budget": {"cycles": 90}}
    tuned(spec, {"rows": [2]}, **options)
    with raising(FormatError, f"{path} has rows with {difference}: choose another file, or delete it"):
        tuned(spec, {"rows": [2, 4]}, **{**options, **changed})
    with pytest.raises(FormatError, match="but now there is runs as they are, of step sweep: choose another file"):
        step.sweep(spec, {"rows": [2]}, save=path, jobs=1)


def test_a_fit_is_made_once_and_kept_in_the_file(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the best program nor a search that goes on fits again what was fitted."""
    made, path = counted(monkeypatch), tmp_path / "rows.csv"
    options: dict[str, Any] = {"within": 0.05, "runs": 0, "cases": [{"seed": 0}, {"seed": 1}], "save": path}
    options |= {"objectives": ["cycles", "energy"]}  # of which there is no bound: all are fitted
    first = tuned(spec, {"rows": [8, 16]}, **options)
    best = first.fitted()
    assert len(made) == 2 and best.fabric != step.FabricConfig()
    again = tuned(spec, {"rows": [8, 16]}, **options)
    assert again.rows == first.rows and again.fitted().fabric == best.fabric and len(made) == 2


def test_ctrl_c_keeps_what_is_known(spec: str) -> None:
    found = tuned(spec, {"rows": [2, 4, 8]}, progress=interrupting("2 of"))
    assert found.interrupted and [row.point["rows"] for row in found.rows] == [2, 4]
    assert found.best().point == {"rows": 2}


def test_rows_are_kept(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    first = tuned(spec, {"rows": [2, 4]}, save=path, budget={"cycles": 1})
    monkeypatch.setattr(fitting, "fit", None)
    again = tuned(spec, {"rows": [2, 4]}, save=path, budget={"cycles": 1})
    assert again.rows == first.rows and {row.status for row in again.rows} == {OVER}


@cases(
    (lambda: Budget.parse(["luts"]),
     "a budget must be NAME=NUMBER, such as lut_sites=300k or memory_bytes=4Mbit, not 'luts'"),
    (lambda: Budget({"cycles": "10"}), "a budget of cycles must be a number above 0, not '10'"),  # type: ignore[dict-item]
    (lambda: step.tune("x.py", {"rows": [1]}, cases=[]), "there must be at least one case; {} is the program as it is"),
    (lambda: step.tune("x.py", {"rows": [1]}, judge="best"),  # type: ignore[arg-type]
     "judge must be \"worst\" or \"mean\", not 'best'"),
)  # fmt: skip
def test_bad_goals(make: Callable[[], object], message: str) -> None:
    with raising(InputError, message):
        make()


def test_a_row_without_measures_is_over_nothing() -> None:
    assert Budget({"cycles": 1, "memory_bytes": 1}).exceeded(Row({}, "deadlock")) is None
