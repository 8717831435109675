"""Parameters that say how much there is to do: a front for each of their values, and cycles by tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from filing import filed
from raising import raised

import step
from step.errors import InputError
from step_explore.sweeps import live

PROGRAM = """
from step import FP32, Graph, Program, Tile
from step.functions import Add, Mul

def program(batch=4, wide=1, kind="a"):
    graph = Graph("sums")
    x = graph.source("x", Tile(FP32, wide, 4), [batch, 4 // wide])
    x.map(Mul(), x).accum(Add()).sink("y")
    return Program(graph, {"x": [[[[1.0] * 4] * wide] * (4 // wide)] * batch})
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return str(filed(tmp_path / "sums.py", PROGRAM))


OVER = {"batch": [2, 8, 32], "wide": [1, 2, 4]}


def test_each_batch_has_a_front_of_its_own(spec: str) -> None:
    alone = step.sweep(spec, OVER, jobs=1)
    assert {row.point["batch"] for row in alone.front} == {2}  # which takes the fewest cycles, and no more memory
    found = step.sweep(spec, OVER, jobs=1, per="batch")
    each = [step.sweep(spec, {**OVER, "batch": [batch]}, jobs=1).front for batch in OVER["batch"]]
    assert [row.point for row in found.front] == [row.point for front in each for row in front]
    assert found.per == ("batch",) and step.sweep(spec, OVER, jobs=1, per=["wide", "batch"]).front


def test_cycles_per_token(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    options: dict[str, Any] = {"objectives": ["cycles_per_token", "on_chip_bytes"], "tokens": "batch", "jobs": 1}
    step.sweep(spec, OVER, jobs=1, save=path)  # rows without tokens get some
    found = step.sweep(spec, OVER, save=path, **options)
    for row in found.rows:
        assert row.cycles and row.tokens == row.point["batch"]
        assert row.cycles_per_token == round(row.cycles / int(row.point["batch"]), 6)
    assert 32 in {row.point["batch"] for row in found.front}
    assert found.best("cycles_per_token").point["batch"] == 32
    assert step.sweep(spec, OVER, save=path, **options).rows == found.rows
    fixed = step.sweep(spec, {"wide": [1, 2]}, arguments={"batch": 8}, **options)
    assert [row.tokens for row in fixed.rows] == [8, 8]


def test_a_choice_is_bounded_by_those_of_its_own_batch(tmp_path: Path) -> None:
    path = filed(tmp_path / "sums.py", PROGRAM)
    options: dict[str, Any] = {"within": 0.05, "runs": 0, "jobs": 1}
    alone = step.tune(str(path), {"batch": [2, 32]}, **options)
    assert {row.status for row in alone.rows} == {"finished", "bounded"}
    found = step.tune(str(path), {"batch": [2, 32]}, per="batch", tokens="batch", **options)
    assert {row.status for row in found.rows} == {"finished"} and len(found.front) == 2
    assert found.per == ("batch",) and found.rows[0].tokens == 2


def test_plots_have_a_front_of_each(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    found = step.sweep(spec, OVER, jobs=1, per="batch", plot=tmp_path / "front.svg")
    assert "front of each batch" in (tmp_path / "front.svg").read_text()
    found.plot(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "front.svg").read_text()
    assert len(step.plot.front(found).lines) == 3 and len(step.plot.front(found, per=()).lines) == 1
    axes = step.plot.front(found.rows, ("cycles", "lut_sites"), per="wide")
    assert len(axes.lines) == 3 and axes.get_legend_handles_labels()[1][0] == "front of each wide"
    drawn: list[Any] = []
    monkeypatch.setattr(live, "DRAWN_EVERY", 0.0)
    monkeypatch.setattr(live, "draw_to", lambda path, rows, objectives, title, per: drawn.append(per))
    step.sweep(spec, {"batch": [2]}, jobs=1, per=["batch"], plot=tmp_path / "x.svg")
    assert set(drawn) == {("batch",)}


@cases(
    (lambda spec: step.sweep(spec, OVER, per="bach"),
     "per must name parameters that are swept over, not 'bach'; did you mean 'batch'? there are batch, wide"),
    (lambda spec: step.sweep(spec, OVER, per=["batch", "batch"]), "per has batch twice"),
    (lambda spec: step.sweep(spec, OVER, per="batch", search=2),
     "a search looks for one front: leave out per, or search for each of its values alone"),
    (lambda spec: step.sweep(spec, OVER, objectives=["cycles_per_token"]),
     "the objective cycles_per_token needs tokens, the parameter that says how many there are"),
    (lambda spec: step.tune(spec, OVER, objectives=["cycles_per_token"]),
     "the objective cycles_per_token needs tokens, the parameter that says how many there are"),
    (lambda spec: step.sweep(spec, OVER, tokens="widee", arguments={"kind": "a"}),
     "tokens must name a parameter or an argument, not 'widee'; did you mean 'wide'? there are batch, wide, kind"),
    (lambda spec: step.sweep(spec, {"kind": ["a", "b"]}, tokens="kind"),
     "tokens must name a parameter of integers >= 1, but kind may be 'a'"),
    (lambda spec: step.plot.front(step.sweep(spec, {"batch": [2]}, jobs=1), per="bath"),
     "the rows have no parameter 'bath'; did you mean 'batch'? they have batch"),
)  # fmt: skip
def test_workloads_that_are_none(make: Callable[[str], object], message: str, spec: str) -> None:
    assert raised(InputError, lambda: make(spec)) == message
