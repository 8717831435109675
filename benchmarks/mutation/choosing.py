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

CALLED, IMPORTS, NAMES, ABOUT = 8, 4, 3, 2
"""What a file of tests is worth for being called as the module, importing it, naming what is changed, its folder."""


def tests(mutant: Mutant, tree: Path) -> list[str]:
    """All files of tests in ``tree`` that say something of ``mutant``, the likeliest first."""
    path = Path(mutant.path)
    module = ".".join(path.with_suffix("").parts)
    words = {path.stem, path.parent.name} - {"__init__", mutant.room}
    names = "|".join(map(re.escape, _around(tree / path, mutant.lines[0])))
    worth: dict[str, int] = {}
    for test in sorted((tree / "tests").rglob("test_*.py")):
        text = _text(test)
        worth[test.relative_to(tree).as_posix()] = (
            CALLED * (path.stem in test.stem)
            + IMPORTS * bool(re.search(rf"\b{re.escape(module)}\b|\b{path.stem} import\b", text))
            + NAMES * bool(names and re.search(rf"\b({names})\b", text))
            + ABOUT * (test.parent.name in FOLDERS[mutant.room])
            + sum(word in test.stem or bool(re.search(rf"\b{re.escape(word)}\b", text)) for word in words)
        )
    return sorted((each for each in worth if worth[each]), key=lambda each: -worth[each])


@cache
def _text(path: Path) -> str:
    return path.read_text()


def _around(path: Path, line: int) -> list[str]:
    """The functions and classes of a source that have ``line`` in them."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [each for each in ast.walk(ast.parse(path.read_bytes())) if isinstance(each, kinds)]
    return [each.name for each in found if each.lineno <= line <= (each.end_lineno or 0) and each.name[:2] != "__"]
