"""Which tests see a mutant most likely: those whose file is called as the changed module, or speaks of it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from benchmarks.mutation.mutants import Mutant

FOLDERS = {
    "step": ("step", "cli", "functions", "random_programs"), "hw": ("hw", "proofs", "functions", "integration"),
    "sim_approx": ("approx", "integration"), "cosim": ("cosim", "integration", "cli"),
    "sim_published": ("published",), "step_models": ("models", "examples"),
}  # fmt: skip
"""Of each room, the folders of tests that are about it."""

CALLED, IMPORTS, FLOOR, NAMES, ABOUT, NEAR = 8, 4, 3, 3, 2, 1
"""What a file of tests is worth for being called as the module, importing it, importing the one of that name on another
floor, naming what is changed, its folder, and importing, or being called as, a module that imports the changed one."""


def tests(mutant: Mutant, tree: Path) -> list[tuple[str, ...]]:
    """What pytest is asked for, one after the other: files of tests in ``tree``, the likeliest first.

    The benches of units are many: of these come first the ones of the units that import the changed module.
    """
    path = Path(mutant.path)
    importers = [each for each in _modules(tree, mutant.room) if _imports(_dotted(path), _text(tree / each))]
    units = sorted({each.stem for each in (path, *importers) if each.parts[:2] == ("hw", "units")} - {"__init__"})
    worth = {each: _worth(each, mutant, tree, importers) for each in sorted((tree / "tests").rglob("test_*.py"))}
    likeliest = sorted((each for each in worth if worth[each]), key=lambda each: -worth[each])
    first = [("tests/hw/test_units.py", "-k", " or ".join(units))] if units else []
    return first + [(each.relative_to(tree).as_posix(),) for each in likeliest]


def _worth(test: Path, mutant: Mutant, tree: Path, importers: list[Path]) -> int:
    path, text = Path(mutant.path), _text(test)
    names = "|".join(map(re.escape, _around(tree / path, mutant.lines[0])))
    return (
        CALLED * (path.stem in test.stem)
        + IMPORTS * _imports(_dotted(path), text)
        + FLOOR * bool(re.search(rf"^from [\w.]+\.{path.stem} import", text, re.MULTILINE))
        + NAMES * bool(names and re.search(rf"\b({names})\b", text))
        + ABOUT * (test.parent.name in FOLDERS[mutant.room])
        + NEAR * sum(each.stem in test.stem or _imports(_dotted(each), text) for each in importers)
    )


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(module: str, text: str) -> bool:
    package, _, name = module.rpartition(".")
    return f"from {module} import" in text or bool(re.search(rf"from {re.escape(package)} import .*\b{name}\b", text))


@cache
def _modules(tree: Path, room: str) -> list[Path]:
    return [each.relative_to(tree) for each in sorted((tree / room).rglob("*.py"))]


@cache
def _text(path: Path) -> str:
    return path.read_text()


@cache
def _around(path: Path, line: int) -> list[str]:
    """The functions and classes of a source that have ``line`` in them."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [each for each in ast.walk(ast.parse(path.read_bytes())) if isinstance(each, kinds)]
    return [each.name for each in found if each.lineno <= line <= (each.end_lineno or 0) and each.name[:2] != "__"]
