"""Rules of the code itself: layering, lint (docstrings, printing and imports are rules of ruff), `__all__`."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import networkx
import pytest

import step
from step import errors, functions, ops
from step.language.function import FUNCTIONS, AccumFunction, FlatMapFunction, Function, MapFunction
from step.language.operator import OPERATORS, Operator

ROOT = Path(step.__file__).parent
UPPER_FLOORS = {"hw", "sim_approx", "cosim"}


FLOORS = ("step", "hw", "sim_approx", "cosim")
LONG = {
    "step/language/graph.py",
    "step/firing/reading.py",
}  # fmt: skip
"""Files of more than 300 lines: one idea each that does not come apart."""
ROOMS = (
    "errors", "host", "language", "functions", "ops", "library", "lowering", "programs", "running", "firing", "rules",
)  # fmt: skip
"""The rooms of `step`, each of which may use those before it."""
HARDWARE = (
    "verilog", "primitives", "arithmetic", "links", "functions", "firing", "rules", "memory", "units", "dma", "axi",
    "fabric", "design", "registers",
)  # fmt: skip
"""Those of `hw`."""


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


def test_files_are_short() -> None:
    paths = [path for floor in (*FLOORS, "step_models", "step_torch") for path in (ROOT.parent / floor).rglob("*.py")]
    long = {path.relative_to(ROOT.parent).as_posix() for path in paths if len(path.read_text().splitlines()) > 300}
    assert long == LONG


def test_lowerings_are_short() -> None:
    files = {path: path.read_text() for path in (ROOT.parent / "step_torch" / "lowerings").glob("*.py")}
    long = [
        f"{path.name}: {node.name}"
        for path, text in files.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 40  # type: ignore[operator]
    ]
    assert files and long == []


def test_no_circle_of_imports() -> None:
    assert list(networkx.simple_cycles(import_graph())) == []


@pytest.mark.parametrize(("floor", "rooms"), [("step", ROOMS), ("hw", HARDWARE)])
def test_a_room_uses_only_those_before_it(floor: str, rooms: Sequence[str]) -> None:
    def room(module: str) -> int:
        return rooms.index(module.split(".")[1])

    entrances = {f"{floor}.__init__", f"{floor}.__main__"}
    inside = [pair for pair in import_graph().edges if all(each.startswith(f"{floor}.") for each in pair)]
    inside = [pair for pair in inside if not entrances.intersection(pair)]
    assert inside and [(one, other) for one, other in inside if room(one) < room(other)] == []


@pytest.mark.parametrize(("floor", "rooms"), [("step", ROOMS), ("hw", HARDWARE)])
def test_rooms_are_all_there_is(floor: str, rooms: Sequence[str]) -> None:
    paths = (ROOT.parent / floor).iterdir()
    found = {path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - {"__init__", "__main__"} == {*rooms}


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
