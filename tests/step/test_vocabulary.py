"""One word for one idea: a class name stands once in the project, and the words of searches are in the glossary."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("step", "hw", "sim_approx", "cosim", *sorted(path.name for path in ROOT.glob("step_*")))
PER_OPERATOR = {"ops", "units", "rules", "functions", "plans", "lowerings"}
"""Folders with a file for each operator or function: there a name stands for the same one on every floor."""

FLOORS = {"Channel": "a channel between two units: of a netlist, and as rules see it"}
"""Names of one idea that stand on several floors, with the reason."""

VOCABULARY = ("point", "space", "search", "choice", "goal", "budget", "row", "table", "run")
"""Words of all that searches and measures; each is a class."""


def places(paths: list[tuple[Path, str]]) -> dict[str, list[str]]:
    """Where each class name is defined at the top of a module, private names without their underscore."""
    found = defaultdict(list)
    for path, shown in paths:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(shown)
    return found


def sources() -> list[tuple[Path, str]]:
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    shown = [(path, path.relative_to(ROOT).as_posix()) for path in files]
    return [(path, name) for path, name in shown if not PER_OPERATOR & set(name.split("/")[:-1])]


def test_a_class_name_stands_once() -> None:
    several = {name: where for name, where in places(sources()).items() if len(where) > 1}
    assert {name: where for name, where in several.items() if name not in FLOORS} == {}
    assert [name for name in FLOORS if name not in several] == [], "these stand once"
    assert len(FLOORS) <= 15


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Row: ...\nclass Goal: ...\n")
    (tmp_path / "b.py").write_text("class _Row:\n    class Goal: ...\n")
    found = places([(path, path.name) for path in sorted(tmp_path.iterdir())])
    assert found == {"Row": ["a.py", "b.py"], "Goal": ["a.py"]}


def test_the_glossary_has_the_words_of_searches() -> None:
    terms = re.findall(r"^\* \*\*(.+?)\*\*:", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert [word for word in VOCABULARY if word not in terms] == []
