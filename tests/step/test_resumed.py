"""Sweeps and searches that go on from a file: which of its rows count, and which files are refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from filing import filed
from raising import raised
from summing import PROGRAM

import step
from step.errors import FormatError
from step_explore.sweeps import live, subject
from step_explore.sweeps.table import OTHERWISE


def stop_after(count: int, told: list[str]) -> Callable[[str], None]:
    """Ctrl-C behind so many rows."""

    def progress(text: str) -> None:
        told.append(text)
        if len(told) == count:
            raise KeyboardInterrupt

    return progress


def tuned(spec: str, rows: list[int], path: Path, **options: Any) -> step.Tuned:
    return step.tune(spec, {"rows": rows}, save=path, jobs=1, within=None, **options)


def column(path: Path) -> list[str]:
    """The points in a file."""
    return [line.partition(",")[0] for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("search", [None, 3])
def test_an_interrupted_search_answers_with_its_own_points(spec: str, tmp_path: Path, search: int | None) -> None:
    path, told = tmp_path / "rows.csv", list[str]()
    tuned(spec, [2, 3], path)
    found = tuned(spec, [16, 32, 64], path, progress=stop_after(2, told), search=search)
    there = [row.point["rows"] for row in found.rows]
    assert found.interrupted and len(there) == 2 and set(there) < {16, 32, 64}
    assert found.best().point == {"rows": min(there)}
    assert [text.partition(";")[0] for text in told] == ["1 of 3 points", "2 of 3 points"]
    assert column(path) == ["2", "3", *map(str, there)]  # what it had stays


def test_progress_and_plots_have_only_the_points_that_are_asked_for(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    drawn, told, path = list[list[Any]](), list[str](), tmp_path / "rows.csv"
    monkeypatch.setattr(live, "DRAWN_EVERY", 0.0)
    monkeypatch.setattr(live, "SHARE", 0)
    monkeypatch.setattr(live, "draw_to", lambda path, rows, *rest: drawn.append([row.point["rows"] for row in rows]))
    step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    options: dict[str, Any] = {"plot": tmp_path / "a.svg", "progress": told.append, "save": path, "jobs": 1}
    step.sweep(spec, {"rows": [4, 3, 5]}, **options)
    assert drawn == [[3, 4], [3, 4, 5], [4, 3, 5]]
    assert [text.partition(";")[0] for text in told] == ["2 of 3 points", "3 of 3 points"]
    assert step.sweep(spec, {"rows": [5, 2]}, save=path, jobs=1).columns["rows"].tolist() == [5, 2]


def test_a_search_that_knows_more_than_it_may_run(spec: str, tmp_path: Path) -> None:
    """All rows of its points count, as they cost nothing."""
    path, told = tmp_path / "rows.csv", list[str]()
    step.sweep(spec, {"rows": [2, 3, 4, 9]}, save=path, jobs=1)
    found = step.sweep(spec, {"rows": [2, 3, 4, 5, 6]}, save=path, jobs=1, search=2, progress=told.append)
    assert found.columns["rows"].tolist() == [2, 3, 4] and told == []


def test_true_and_one_are_two_points(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    step.sweep(spec, {"deep": [True, False]}, save=path, jobs=1)
    found = step.sweep(spec, {"deep": [1]}, save=path, jobs=1)
    assert [row.point["deep"] is True for row in found.rows] == [False] and column(path) == ["true", "false", "1"]


def complaint(run: Callable[[], object]) -> str:
    return raised(FormatError, run)


def test_rows_on_another_fabric(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    for options in ({"settings": ["fabric.stages=1"]}, {"settings": ["memory=hbm2"]}, {"depths": {"accum_0": 9}}):
        for rows in ([2], [8]):  # also where none of these is asked for
            text = complaint(lambda: step.sweep(spec, {"rows": rows}, save=path, jobs=1, **options))  # noqa: B023
            assert text == f"{path} has a sweep on another fabric, or with other depths: {OTHERWISE}"


def test_a_program_that_is_refused_where_it_ran(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    other = tmp_path / "other.py"
    other.write_text(PROGRAM.replace("    graph =", "    if rows < 4: raise ValueError('too few')\n    graph ="))
    text = complaint(lambda: step.sweep(str(other), {"rows": [4]}, save=path, jobs=1))
    assert text == (
        f"{path} has a sweep of another program, or of this one before it or its data was changed: {OTHERWISE}"
    )


def test_budgets_that_hardly_differ(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    tuned(spec, [2], path, budget={"bytes_per_cycle": 1.5})
    assert complaint(lambda: tuned(spec, [2], path, budget={"bytes_per_cycle": 1.75})) == (
        f"{path} has rows with a budget of bytes_per_cycle=1.5, but now there is a budget of bytes_per_cycle=1.75: "
        f"{OTHERWISE}"
    )


def test_a_run_that_was_cut_off_runs_again(spec: str, tmp_path: Path) -> None:
    """And one that finished, but takes more than is left now."""
    path = tmp_path / "rows.csv"

    def statuses(**options: Any) -> list[str]:
        return [row.status for row in step.sweep(spec, {"rows": [2, 60]}, save=path, jobs=1, **options).rows]

    assert statuses(max_cycles=50) == ["finished", "runaway"]
    assert statuses() == ["finished"] * 2
    assert statuses(max_cycles=50) == ["finished", "runaway"]


def test_what_was_refused_of_a_program_that_nobody_knows_runs_again(spec: str, tmp_path: Path) -> None:
    path, text = tmp_path / "rows.csv", PROGRAM
    wrong = text.replace("    graph =", "    if rows > 4: raise ValueError('too many')\n    graph =")
    Path(spec).write_text(wrong)
    found = step.sweep(spec, {"rows": [2, 9]}, save=path, jobs=1)
    assert [row.status for row in found.rows] == ["finished", "refused"]
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("2,")))
    Path(spec).write_text(text)
    subject._loaded.cache_clear()
    assert [row.status for row in step.sweep(spec, {"rows": [2, 9]}, save=path, jobs=1).rows] == ["finished"] * 2


def test_a_row_that_failed_is_no_answer(tmp_path: Path) -> None:
    """Neither the best one, nor on a front, whatever of it is small."""
    path = filed(tmp_path / "cut.py", PROGRAM)
    found = step.sweep(str(path), {"rows": [2, 60]}, jobs=1, max_cycles=50, objectives=["lut_sites", "on_chip_bytes"])
    assert [row.status for row in found.rows] == ["finished", "runaway"] and found.rows[1].lut_sites
    assert [row.point["rows"] for row in found.front] == [2] and found.best("flops").point == {"rows": 2}
    none = step.sweep(str(path), {"rows": [60]}, jobs=1, max_cycles=50)
    with pytest.raises(step.errors.InputError, match=r"^no point of this sweep has lut_sites$"):
        none.best("lut_sites")


@cases(
    (lambda text: text + text.splitlines()[1] + "\n", None),  # a row twice
    (lambda text: "".join([text.splitlines(True)[0], *reversed(text.splitlines(True)[1:])]), None),
    (lambda text: text.rstrip("\n"), None),
    (lambda text: text[: text.rindex(",finished") + 9], "{path} is no table of a sweep: row 2 has 2 cells, "),
    (lambda text: text + "2,finished" + "," * (text.splitlines()[0].count(",") - 1) + "\n",
     "{path} has two rows for rows=2 that differ: " + OTHERWISE),
    (lambda text: re.sub(r"finished,[0-9]+", "finished,soon", text, count=1),
     "row 1 of {path}: cycles must be an integer >= 0, not 'soon'"),
    (lambda text: re.sub(r"finished,[0-9]+", "finished,-4", text, count=1),
     "row 1 of {path}: cycles must be an integer >= 0, not -4"),
    (lambda text: re.sub(r"finished,([0-9]+),[0-9.]+", r"finished,\1,nan", text, count=1),
     "row 1 of {path}: flops_per_cycle must be a number >= 0, not nan"),
    (lambda text: text.replace("3,finished", "3,finish"),
     "row 2 of {path}: status must be one of finished, deadlock, runaway, fault, refused, over, bounded, lost, "
     "not 'finish'"),
    (lambda text: text.replace("cycles,", "rows,", 1), "{path} is no table of a sweep: " + OTHERWISE),
    (lambda text: text.replace(",lut_sites", ",sites", 1),
     "{path} has rows of another version of this toolkit, without lut_sites: " + OTHERWISE),
    (lambda text: "", "{path} is no table of a sweep: "),
)  # fmt: skip
def test_files_that_somebody_changed(
    change: Callable[[str], str], wanted: str | None, spec: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    before = step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)
    path.write_text(change(path.read_text()))
    if wanted is None:
        assert step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1).rows == before.rows
        return
    kept = path.read_text()
    assert complaint(lambda: step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1)).startswith(wanted.format(path=path))
    assert path.read_text() == kept


def test_two_processes_keep_the_rows_of_each_other(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    other = f"import step; step.sweep({spec!r}, {{'rows': [8, 2]}}, save={str(path)!r}, jobs=1)"

    def meanwhile(text: str) -> None:
        if text.startswith("1 of 2"):
            subprocess.run([sys.executable, "-c", other], check=True, timeout=100)

    found = step.sweep(spec, {"rows": [2, 3]}, save=path, jobs=1, progress=meanwhile)
    assert found.columns["rows"].tolist() == [2, 3] and sorted(column(path)) == ["2", "3", "8"]
