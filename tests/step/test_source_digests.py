"""Which results are made of which sources, and what of these a digest sees."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest
from cases import cases
from test_layering import import_graph

from step.host import sources
from step.host.sources import MADE_OF, source_digest

PACKAGES = sorted({each for packages in MADE_OF.values() for each in packages} | {"step_cli", "sim_approx"})


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a Python file and a text in every package."""
    monkeypatch.setattr(sources, "folder_of", lambda package: tmp_path / "project" / package)
    for package in PACKAGES:
        (tmp_path / "project" / package).mkdir(parents=True)
        (tmp_path / "project" / package / "file.py").write_text("size = 3\n")
        (tmp_path / "project" / package / "text.md").write_text("Words.")
    (tmp_path / "project" / "hw" / "model.cpp").write_text("int model;")
    return tmp_path / "project"


def digests() -> dict[str, str]:
    source_digest.cache_clear()
    found = {result: source_digest(result) for result in MADE_OF}
    source_digest.cache_clear()
    return found


@cases(
    ("step_cli/file.py", "size = 4", set()),
    ("sim_approx/file.py", "size = 4", set()),
    ("step.running.result/file.py", "size = 4", {"verilog"}),
    ("hw/file.py", "size = 4", {"verilog"}),
    ("hw/model.cpp", "int model;  // changed", {"verilog"}),
    ("hw/text.md", "Other words.", set()),
    ("hw/new.py", "", {"verilog"}),
    ("step.ops/file.py", "size = 4", {"verilog", "fuzz"}),
    ("step_check.fuzz/file.py", "size = 4", {"fuzz"}),
)
def test_a_change_throws_away_what_it_makes(file: str, text: str, results: set[str], tree: Path) -> None:
    before = digests()
    assert digests() == before
    (tree / file).write_text(text)
    after = digests()
    assert {result for result in MADE_OF if before[result] != after[result]} == results


def test_names_of_nothing_are_refused() -> None:
    with pytest.raises(AssertionError, match=r"^step\.language\.gone is neither a package nor a module$"):
        sources.folder_of("step.language.gone")


NEUTRAL = ("step.errors", "step.host", "step_check.samples", "step.programs.files.json_file")
"""Texts of errors, files and libraries, samples of operators, formats of files: they decide no result."""


def test_nothing_else_is_imported() -> None:
    graph = import_graph()
    roots = {each for each in graph if each.startswith("hw.")}
    found = roots | {each for one in roots for each in networkx.descendants(graph, one)}
    known = tuple(f"{each}." for each in (*MADE_OF["verilog"], *NEUTRAL))
    assert roots and sorted(each for each in found if not f"{each}.".startswith(known)) == []
