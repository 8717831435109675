"""``step show --play`` and ``step explain --play``: the page on which tokens move, and what keeps it from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import cases
from commanding import Step, in_a_process

SIMPLE = "examples/moe_simple.py"
STUCK = "tests/cli/programs/stuck.py"


def test_a_page_is_written(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "play.html"
    assert step("show", SIMPLE, "--play", "-o", path).ok() == f"written: {path}\n"
    assert "<h1>moe_simple: 301 cycles</h1>" in path.read_text()
    said = json.loads(step("show", SIMPLE, "--play", "--from", 9, "--to", 20, "-o", path, "--json").ok())
    assert said == {"page": str(path), "first": 9, "last": 20}
    assert '"first":9,"end":21,' in path.read_text()


def test_a_page_is_called_like_the_program(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path.cwd()
    monkeypatch.chdir(tmp_path)
    assert step("show", root / SIMPLE, "--play").ok() == "written: moe_simple.html\n"


def test_a_deadlock_leaves_its_page(step: Step, tmp_path: Path) -> None:
    path = tmp_path / "play.html"
    ran, played = step("run", STUCK, "--backend", "approx"), step("show", STUCK, "--play", "-o", path)
    assert played == (4, f"written: {path}\n", ran.err)
    assert "<h1>fragile: 16 cycles, deadlock</h1>" in path.read_text()


def test_a_report_and_the_page_beside_it_are_linked(step: Step, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    report, page = tmp_path / "a report.html", tmp_path / "pages" / "play.html"
    ended = step("explain", SIMPLE, "--no-what-if", "--report", report, "--play", page).ok().splitlines()[-2:]
    assert ended == [f"written: {report}", f"written: {page}"]
    assert '<a href="pages/play.html">' in report.read_text() and '<a href="../a%20report.html">' in page.read_text()
    step("explain", SIMPLE, "--no-what-if", "--report", report).ok()
    step("explain", SIMPLE, "--no-what-if", "--play", page).ok()
    assert "<a href" not in report.read_text() + page.read_text()


@cases(
    (["--play", "--format", "svg"], "--format has no effect with --play, which writes a page"),
    (["--from", "3"], "--inputs, --from and --to have no effect without --play"),
    (["--inputs", "pyproject.toml"], "--inputs, --from and --to have no effect without --play"),
    (["--play", "-o", "x.svg"], "a page must go to a file that ends in .html, not 'x.svg'"),
    (["--play", "-o", "/proc/x.html"], "/proc/x.html can not be written: No such file or directory"),
    (["--play", "--from", "9", "--to", "3"], "the first cycle, 9, must not be behind the last one, 3"),
    (["--play", "--from", "301"], "the run has 301 cycles, so there is no cycle 301"),
)
def test_complaints(arguments: list[str], complaint: str, step: Step) -> None:
    assert step("show", SIMPLE, *arguments).failed() == f"error: {complaint}\n"
    assert not Path("moe_simple.html").exists()


def test_without_a_compiler_nothing_is_played(tmp_path: Path) -> None:
    ran = in_a_process("show", SIMPLE, "--play", CXX="/none", STEP_CACHE=str(tmp_path))
    assert ran.failed(3) == (
        "error: a record of waits is made by the compiled engine alone, and here the Python engine runs: "
        "there is no C++ compiler /none; install g++, or set CXX\n"
    )


def test_a_program_that_is_not_there(step: Step) -> None:
    assert step("show", "none.py", "--play").failed() == "error: there is no file 'none.py'\n"
