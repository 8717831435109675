"""Which results are made of which sources, and what of these a digest sees."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest
from cases import cases
from test_layering import import_graph

from step.host import sources
from step.host.sources import MADE_OF, meaning, source_digest

CODE = '''"""A module."""

class Unit:
    """What it does."""

    size: int = 3  # words

    def fire(self) -> int:
        """Fires."""
        return self.size + 1
'''


@cases(
    ('"""A module."""\n', ""),
    ('"""A module."""', '"""Another text,\n\nof several lines."""'),
    ('    """What it does."""\n', ""),
    ('"""Fires."""', "'''Sends.'''"),
    ("  # words", ""),
    ("class Unit", "# A comment.\n\n\nclass Unit"),
    ("self.size + 1", "(self.size\n                + 1)"),
)
def test_words_do_not_change_the_meaning(before: str, after: str) -> None:
    assert before in CODE
    assert meaning(CODE.replace(before, after).encode()) == meaning(CODE.encode())


@cases(
    ("size: int = 3", "size: int = 4"), ("self.size + 1", "self.size - 1"), ("self.size + 1", "self.size + '1'"),
    ("return self", 'return "text", self'), ("Unit", "Other"),
)  # fmt: skip
def test_code_does(before: str, after: str) -> None:
    assert before in CODE
    assert meaning(CODE.replace(before, after).encode()) != meaning(CODE.encode())


PACKAGES = sorted({each for packages in MADE_OF.values() for each in packages} | {"step_cli", "step.host", "cosim"})
RTL, MODEL = {"verilog", "rtl"}, {"fabric"}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a Python file and a text in every package, and a cache of its own."""
    monkeypatch.setattr(sources, "_folder", lambda package: tmp_path / "project" / package)
    monkeypatch.setenv("STEP_CACHE", str(tmp_path / "cache"))
    for package in PACKAGES:
        (tmp_path / "project" / package).mkdir(parents=True)
        (tmp_path / "project" / package / "file.py").write_text(CODE)
        (tmp_path / "project" / package / "text.md").write_text("Words.")
    (tmp_path / "project" / "hw" / "model.cpp").write_text("int model;")
    return tmp_path / "project"


def digests() -> dict[str, str]:
    source_digest.cache_clear()
    found = {result: source_digest(result) for result in MADE_OF}
    source_digest.cache_clear()
    return found


@cases(
    ("step_cli/file.py", "changed = 1", set()),
    ("step.host/file.py", "changed = 1", set()),
    ("cosim/file.py", "changed = 1", set()),
    ("sim_approx/file.py", "changed = 1", MODEL),
    ("step.running/file.py", "changed = 1", MODEL),
    ("step.running.result/file.py", "changed = 1", RTL),
    ("hw/file.py", "changed = 1", RTL),
    ("hw/file.py", CODE.replace("Fires.", "Sends."), set()),
    ("hw/model.cpp", "int model;  // changed", RTL),
    ("hw/text.md", "Other words.", set()),
    ("hw/new.py", "", RTL),
    ("cosim.building.verilog/file.py", "changed = 1", {"rtl"}),
    ("step.ops/file.py", "changed = 1", RTL | MODEL | {"fuzz"}),
    ("step_check.fuzz/file.py", "changed = 1", {"fuzz"}),
    ("step.lowering/file.py", "# A comment.\n" + CODE, set()),
)
def test_a_change_throws_away_what_it_makes(file: str, text: str, results: set[str], tree: Path) -> None:
    before = digests()
    assert digests() == before
    (tree / file).write_text(text)
    after = digests()
    assert {result for result in MADE_OF if before[result] != after[result]} == results


def test_files_of_their_own(tree: Path) -> None:
    before = source_digest("files", tree / "step_cli" / "file.py")
    assert before != source_digest("files")
    source_digest.cache_clear()
    (tree / "step_cli" / "file.py").write_text(f"# Another comment.\n{CODE}")
    assert source_digest("files", tree / "step_cli" / "file.py") == before


def test_names_of_nothing_are_refused() -> None:
    with pytest.raises(AssertionError, match=r"^step\.language\.gone is neither a package nor a module$"):
        sources._folder("step.language.gone")


NEUTRAL = ("step.errors", "step.host", "step_check.samples", "step.programs.files.json_file")
"""Texts of errors, files and libraries, samples of operators, formats of files: they decide no result."""


@pytest.mark.parametrize(("result", "root"), [("verilog", "hw"), ("fabric", "sim_approx.backend")])
def test_nothing_else_is_imported(result: str, root: str) -> None:
    graph = import_graph()
    roots = {each for each in graph if each == root or each.startswith(f"{root}.")}
    found = roots | {each for one in roots for each in networkx.descendants(graph, one)}
    known = (*MADE_OF[result], *NEUTRAL)
    assert (
        roots and sorted(each for each in found if not f"{each}.".startswith(tuple(f"{one}." for one in known))) == []
    )
