"""Tests that see a mutant most likely: those whose file is called as the changed module, or imports it."""

from __future__ import annotations

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

CALLED, IMPORTS, ABOUT, NEAR = 8, 4, 2, 1
"""What a file of tests is worth for being called as the module, importing it, its folder, and importing, or being
called as, a module that imports the changed one."""


def tests(mutant: Mutant, tree: Path) -> list[tuple[str, ...]]:
    """Arguments for pytest, one after the other: files of tests in ``tree``, the likeliest first.

    The benches of units are many: of these come first the ones of the units that import the changed module.
    """
    path = Path(mutant.path)
    importers = [each for each in _modules(tree, mutant.room) if _imports(path, tree / each)]
    units = sorted({each.stem for each in (path, *importers) if each.parts[:2] == ("hw", "units")} - {"__init__"})

    def worth(test: Path) -> int:
        near = sum(each.stem in test.stem or _imports(each, test) for each in importers)
        called, about = path.stem in test.stem, test.parent.name in FOLDERS[mutant.room]
        return CALLED * called + IMPORTS * _imports(path, test) + ABOUT * about + NEAR * near

    worths = {each: worth(each) for each in sorted((tree / "tests").rglob("test_*.py"))}
    likeliest = sorted((each for each in worths if worths[each]), key=lambda each: -worths[each])
    first = [("tests/hw/test_units.py", "-k", " or ".join(units))] if units else []
    return first + [(each.relative_to(tree).as_posix(),) for each in likeliest]


def _imports(module: Path, file: Path) -> bool:
    """Whether ``file`` imports ``module``, a path in the tree."""
    dotted, text = ".".join(module.with_suffix("").parts).removesuffix(".__init__"), _text(file)
    package, _, name = dotted.rpartition(".")
    return f"from {dotted} import" in text or bool(re.search(rf"from {re.escape(package)} import .*\b{name}\b", text))


@cache
def _modules(tree: Path, room: str) -> list[Path]:
    return [each.relative_to(tree) for each in sorted((tree / room).rglob("*.py"))]


@cache
def _text(path: Path) -> str:
    return path.read_text()
