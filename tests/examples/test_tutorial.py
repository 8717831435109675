"""The tutorial as somebody types it: its session, its commands on the program that the session saved, its hardware."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import nbformat
import pytest
from commanding import Step
from nbclient import NotebookClient

from step.programs.program import Program

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.split() for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line.startswith("step ")
]
ON_RTL = [each for each in COMMANDS if each[1] == "compare" or (each[1:2] == ["run"] and "--backend" not in each)]


NOTEBOOK = TUTORIAL.parents[1] / "examples" / "tutorial.ipynb"


@pytest.fixture
def session(tmp_path: Path, step: Step, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The names of the tutorial's session, which ran where ``triage.json`` then is."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    lines = doctest.DocTestParser().get_doctest(TUTORIAL.read_text(), scope, "tutorial", None, None)
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(lines, clear_globs=False)
    assert done.attempted > 20 and done.failed == 0
    return lines.globs


def test_the_tutorial_without_a_build(session: dict[str, object], step: Step, tmp_path: Path) -> None:
    assert len(ON_RTL) == 3
    for each in COMMANDS:
        if each not in ON_RTL:
            assert step(*each[1:]).code == 0
    assert (tmp_path / "triage.svg").read_text().startswith("<")
    assert "module fabric_triage" in (tmp_path / "build" / "fabric_triage.sv").read_text()
    assert (tmp_path / "build" / "fabric.json").is_file()
    assert {"route.vcd", "route.gtkw", "route.sucl"} <= {each.name for each in tmp_path.iterdir()}


def shown(book: nbformat.NotebookNode) -> list[set[str]]:
    """The media types of what each cell with code shows."""
    cells = [each for each in book.cells if each.cell_type == "code"]
    return [{kind for output in each.outputs for kind in output.get("data", {})} for each in cells]


@pytest.mark.slow
def test_the_notebook_shows_pictures_and_tables() -> None:
    """Without the cell that builds a simulator."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    kept = shown(book)
    assert [each.metadata.get("tags") for each in book.cells].count(["rtl"]) == 1
    book.cells = [each for each in book.cells if each.metadata.get("tags") != ["rtl"]]
    patient = {"timeout": None, "startup_timeout": 3600, "iopub_timeout": 3600}
    NotebookClient(book, resources={"metadata": {"path": NOTEBOOK.parent}}, **patient).execute()
    assert shown(book) == kept[:-1] and {"text/plain", "text/html"} in kept and {"text/plain", "image/svg+xml"} in kept


@pytest.mark.slow  # it builds two simulators
def test_the_hardware_of_the_tutorial(session: dict[str, object], step: Step, tmp_path: Path) -> None:
    for each in ON_RTL:
        assert step(*each[1:]).code == 0
    (tmp_path / "triage.vcd").unlink()
    (code,) = (text for kind, text in BLOCKS if kind == "python" and text.startswith("def hardware("))
    program = session["program"]
    assert isinstance(program, Program)
    exec(f"import step\n{code}", session)
    session["hardware"](program)  # type: ignore[operator]
    assert "$enddefinitions" in (tmp_path / "triage.vcd").read_text()
