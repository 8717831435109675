"""One word for one idea: a class name stands once in the project, and the words of searches are in the glossary."""

from __future__ import annotations

import ast
import json
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


def attributes(made: ast.ClassDef) -> set[str]:
    """Names of the fields, properties and constants of a class."""
    found = set()
    for each in made.body:
        if isinstance(each, ast.FunctionDef):
            found.add(each.name)
        elif isinstance(each, ast.AnnAssign | ast.Assign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def counting_beats(texts: dict[str, str]) -> list[str]:
    """Classes whose values are words on links, as they know the bits of a word, but which count ``beats``."""
    classes = [(name, each) for name, text in texts.items() for each in ast.walk(ast.parse(text))]
    made = [(name, each) for name, each in classes if isinstance(each, ast.ClassDef)]
    return [f"{name}: {each.name}" for name, each in made if {"word_bits", "beats"} <= attributes(each)]


def test_links_move_words_and_memory_beats() -> None:
    assert counting_beats({name: path.read_text() for path, name in sources()}) == []
    schema = json.loads((ROOT / "step/programs/files/schemas/sidecar.json").read_text())["properties"]
    parts = {name: each.get("items", {}).get("properties", {}) for name, each in schema.items()}
    assert [name for name, each in parts.items() if "beats" in each] == ["reads", "writes"]
    assert [name for name, each in parts.items() if "words" in each] == ["sources", "sinks", "channels", "buffers"]


def test_a_class_that_calls_words_beats_is_found() -> None:
    text = "class A:\n    word_bits: int\n    @property\n    def beats(self): ...\nclass B:\n    beats = words = 0\n"
    assert counting_beats({"a.py": text, "b.py": "class C:\n    beats = word_bits = 0\n"}) == ["a.py: A", "b.py: C"]


def test_the_glossary_has_the_words_of_searches() -> None:
    terms = re.findall(r"^\* \*\*(.+?)\*\*:", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert [word for word in VOCABULARY if word not in terms] == []
