"""Rules of the code itself: layering, lint, sorted and complete `__all__`, docstrings, printing."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

import step
from step import errors, functions, ops
from step.language.function import FUNCTIONS, AccumFunction, FlatMapFunction, Function, MapFunction
from step.language.operator import OPERATORS, Operator

ROOT = Path(step.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
UPPER_FLOORS = {"hw", "sim_approx", "sim_published", "cosim"}


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of all packages that a module imports, wherever it does."""
    names: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.ImportFrom):
            assert each.level == 0, "imports are absolute"
            names.add((each.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
class TestFile:
    def test_imports_no_upper_floor(self, path: Path) -> None:
        assert not imported(ast.parse(path.read_text())) & UPPER_FLOORS

    def test_library_code_does_not_print(self, path: Path) -> None:
        calls = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)]
        found = [ast.unparse(each) for each in calls if isinstance(each.func, ast.Name)]
        assert not [
            each
            for each in found
            if each.startswith(("print(", "eval(", "exec("))
            and each != "exec('')"  # runs nothing; see step/__main__.py
        ]

    def test_has_a_docstring_and_is_not_long(self, path: Path) -> None:
        text = path.read_text()
        assert len(text.splitlines()) <= 600
        assert not text.strip() or ast.get_docstring(ast.parse(text))


FLOORS = ("step", "hw", "sim_approx", "sim_published", "cosim")
ROOMS = (
    "errors",
    "host",
    "language",
    "samples",
    "functions",
    "ops",
    "library",
    "lowering",
    "programs",
    "running",
    "waves",
    "fuzz",
    "sweeps",
    "fifos",
    "cli",
)
"""The rooms of `step`, each of which may use those before it."""


def import_graph() -> networkx.DiGraph:
    """Every file of the project with the files that it imports, for type checking only or in a function too."""
    paths = [path for floor in FLOORS for path in sorted((ROOT.parent / floor).rglob("*.py"))]
    files = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in paths}
    graph = networkx.DiGraph()
    for name, path in files.items():
        for each in ast.walk(ast.parse(path.read_text())):
            if isinstance(each, ast.Import):
                found = [alias.name for alias in each.names]
            elif isinstance(each, ast.ImportFrom):
                found = [each.module or "", *(f"{each.module}.{alias.name}" for alias in each.names)]
            else:
                continue
            graph.add_edges_from((name, other) for other in found if other in files)
    return graph


def test_no_circle_of_imports() -> None:
    assert list(networkx.simple_cycles(import_graph())) == []


def test_a_room_uses_only_those_before_it() -> None:
    def room(module: str) -> int:
        return ROOMS.index(module.split(".")[1])

    inside = [pair for pair in import_graph().edges if all(each.startswith("step.") for each in pair)]
    inside = [pair for pair in inside if "step.__init__" not in pair and "step.__main__" not in pair]
    assert inside and [(one, other) for one, other in inside if room(one) < room(other)] == []


def test_rooms_are_all_there_is() -> None:
    found = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found == {*ROOMS, "__init__", "__main__"}


def test_the_language_does_not_load_upper_floors() -> None:
    code = "import sys, step; print(sorted({name.partition('.')[0] for name in sys.modules} & " + f"{UPPER_FLOORS!r}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert result.stdout.strip() == "[]"


def test_ruff_passes() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--output-format", "concise", str(ROOT)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_exported_is_there_and_not_loaded_before_it_is_used() -> None:
    assert "Graph" in step.__all__ and "run" in step.__all__
    assert all(hasattr(step, name) for name in step.__all__)
    code = "import sys, step; print(sorted({'numpy', 'sympy', 'networkx', 'jsonschema'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("use", ["Graph().source", "Stream.__dir__", "ops.Map", "load_program"])
def test_operators_are_there_when_they_are_used(use: str) -> None:
    code = f"import step; step.{use}; print(step.Graph().load)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)


def test_every_operator_has_a_file_of_its_own() -> None:
    files = {path.stem for path in (ROOT / "ops").glob("*.py")} - {"__init__"}
    assert files == set(OPERATORS)
    assert ops.__all__ == sorted(cls.__name__ for cls in OPERATORS.values())
    for name, cls in OPERATORS.items():
        assert issubclass(cls, Operator) and cls.__module__ == f"step.ops.{name}" and getattr(ops, cls.__name__) is cls
        assert cls.__name__.lower() == name.replace("_", "")


def test_every_function_is_exported() -> None:
    own = [cls for cls in FUNCTIONS.values() if cls.__module__.partition(".")[0] == "step"]  # tests have others
    assert functions.__all__ == sorted(cls.__name__ for cls in own)
    assert not [name for name in functions.__all__ if name.startswith("_")]
    for cls in own:
        assert issubclass(cls, (MapFunction, AccumFunction, FlatMapFunction)) and cls.__module__.startswith(
            "step.functions."
        )


@pytest.mark.parametrize("cls", [*OPERATORS.values(), *FUNCTIONS.values()], ids=lambda cls: cls.__name__)
def test_operators_and_functions_say_what_they_do(cls: type[Operator] | type[Function]) -> None:
    text = cls.__dict__.get("__doc__") or ""
    assert text and not text.startswith(f"{cls.__name__}("), "the docstring is what dataclass made"
    assert text.split("\n")[0].rstrip().endswith((".", ",", ":")) or len(text) > 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_functions_are_typed_and_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            assert ast.get_docstring(each), f"{each.name} has no docstring"
            assert each.returns is not None, f"{each.name} does not say what it returns"
            arguments = [*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs]
            assert all(argument.annotation is not None for argument in arguments), f"{each.name} is not typed"
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            assert ast.get_docstring(each), f"{each.name} has no docstring"


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = [(-1, "Exception")]
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"(?: {4}StepError|[ |]*\+-- (\w+))", line):
            column, name = match.start(1), match[1] or "StepError"
            while path[-1][0] >= column and len(path) > 1:
                path.pop()
            parents[name] = path[-1][1]
            path.append((column, name))
    classes = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, Exception)]
    assert parents == {each.__name__: each.__base__.__name__ for each in classes}
