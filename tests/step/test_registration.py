"""Operators and functions register themselves once, and those of other packages come by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from filing import filed
from raising import raised

from step.errors import FabricError, RegistrationError
from step.functions.elementwise import Add
from step.host.extensions import needed_module
from step.language.dtypes import FP32
from step.language.function import FUNCTIONS
from step.language.graph import Graph, graph_method
from step.language.operator import OPERATORS, Operator
from step.language.stream import stream_method
from step.language.types import Tile
from step.ops.sink import Sink


@cases(
    (Sink, "step.ops.sink", "Drain", "the operator 'sink' is defined twice: by step.ops.sink.Sink and by "),
    (Sink, "other.sink", "Sink", "the operator 'sink' is defined twice: by step.ops.sink.Sink and by "),
    (Add, "other.sums", "Add", "the function 'add' is defined twice: by step.functions.elementwise.Add and by "),
)
def test_operators_and_functions_have_names_and_files_of_their_own(
    base: Any, module: str, name: str, message: str
) -> None:
    caught = raised(RegistrationError, type, name, (base,), {"__module__": module, "__qualname__": name})
    assert caught == f"{message}{module}.{name}"
    assert OPERATORS["sink"] is Sink and FUNCTIONS["add"] is Add


@cases(
    (stream_method, "a stream", "sink", "step.ops.sink.sink"),
    (graph_method, "a graph", "load", "step.ops.linear_off_chip_load.load"),
)
def test_methods_have_names_of_their_own(decorator: Any, what: str, name: str, known: str) -> None:
    def method() -> None:
        """Never called."""

    method.__module__, method.__name__, method.__qualname__ = "other", name, name
    caught = raised(RegistrationError, lambda: decorator(method))
    assert caught == f"the method of {what} {name!r} is defined twice: by {known} and by other.{name}"


def test_a_module_that_is_loaded_anew_takes_the_old_ones_place() -> None:
    again = type("Sink", (Sink,), {"__module__": Sink.__module__, "__qualname__": Sink.__qualname__})
    assert OPERATORS["sink"] is again
    OPERATORS["sink"] = Sink


def test_a_base_of_several_operators_is_none() -> None:
    known = dict(OPERATORS)
    type("_Base", (Operator,), {"__module__": "other.base"})
    assert known == OPERATORS


@cases(
    ("hw.units", "operator"), ("sim_approx.units", "operator"), ("hw.functions", "function"),
    ("step.lowering.plans", "function"),
)  # fmt: skip
def test_what_a_floor_does_not_have_is_named_with_its_line(
    package: str, kind: str, monkeypatch: pytest.MonkeyPatch, graph: Graph
) -> None:
    graph.source("x", Tile(FP32), [2]).map(Add(), graph.source("w", Tile(FP32), [2]), name="y")
    node = graph.nodes["y"]
    what, place = f"the {kind} 'missing'", node.describe()
    assert raised(FabricError, needed_module, package, "missing", place, what) == (
        f"map 'y' ({node.location}): {package} has nothing for {what}; "
        f"it needs a file missing.py there, or an entry point 'missing' in the group '{package}'"
    )


# -- entry points ---------------------------------------------------------------------------------------------------

HALVE = """
from dataclasses import dataclass
import sympy
from step.language.function import MapFunction

@dataclass(frozen=True)
class Halve(MapFunction):
    \"\"\"Half of every scalar.\"\"\"

    def result_type(self, *inputs):
        return inputs[0]

    def apply(self, value):
        return value / 2

    def flops(self, *inputs):
        return sympy.Integer(0)
"""


def install(folder: Path, package: str, group: str, entries: dict[str, str], files: dict[str, str]) -> None:
    """A package as pip leaves it behind: modules in ``folder``, and what they are called by in its metadata."""
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def last_line(folder: Path, code: str) -> str:
    """What Python says last of ``code``, on stdout or stderr, with ``folder`` on its path."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


FIND = "from step.language.function import function_named; print(function_named('halve'))"


@cases(
    FIND,
    "from step.functions import Halve; print(Halve)",
    "import step.functions; print(step.functions.Halve)",
    "import step.functions as all; print([getattr(all, each) for each in dir(all) if each == 'Halve'][0])",
    ids=["by name", "imported", "named", "listed"],
)
def test_a_function_of_another_package_is_among_those_of_the_toolkit(find: str, tmp_path: Path) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": "mine.halve"}, {"mine/halve.py": HALVE})
    assert last_line(tmp_path, find) == "<class 'mine.halve.Halve'>"


def test_operators_of_other_packages_are_among_those_of_the_toolkit() -> None:
    find = "from step import ops; print(ops.PermittedStore, 'PermittedStore' in dir(ops))"
    assert (
        last_line(Path(__file__).parents[1] / "outside", find)
        == "<class 'permit.ops.permitted_store.PermittedStore'> True"
    )


def test_a_function_that_nobody_has(tmp_path: Path) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": "mine.halve"}, {"mine/halve.py": HALVE})
    text = last_line(tmp_path, "import step.functions; step.functions.Halv")
    assert text.startswith(
        "AttributeError: step.functions has no 'Halv'; did you mean 'Halve'? it has Abs, Add, AppendRow,"
    )


MISSING = """
from step import BF16, FabricConfig, Graph, StepError, Tile, lower
from step.language.function import function_named
graph = Graph()
graph.source("x", Tile(BF16), [2]).map(function_named("halve")(), name="y").sink("z")
netlist = lower(graph, FabricConfig())
try:
    {look}
except StepError as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""


@cases(
    ("hw.functions", "from hw.fabric import elaborate; elaborate(netlist)"),
    ("step.lowering.plans", "from sim_approx.backend import run; run(netlist, {'x': [1, 2]})"),
)
def test_a_function_that_stands_on_one_floor_only_is_refused_by_the_others(
    package: str, look: str, tmp_path: Path
) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": "mine.halve"}, {"mine/halve.py": HALVE})
    assert last_line(tmp_path, MISSING.format(look=look)) == (
        f"FabricError: map 'y' (<unknown>:0): {package} has nothing for the function 'halve'; "
        f"it needs a file halve.py there, or an entry point 'halve' in the group '{package}'"
    )


def test_a_family_that_lacks_a_function_is_an_error_with_the_line(tmp_path: Path) -> None:
    entries, files = {"elementwise": "mine.elementwise"}, {"mine/elementwise.py": HALVE}
    install(tmp_path, "halves", "step.functions", entries, files)
    look = "from hw.fabric import elaborate; elaborate(netlist)"
    wanted = "FabricError: map 'y' (<unknown>:0): there is no datapath for the function 'halve'"
    assert last_line(tmp_path, "import mine.elementwise\n" + MISSING.format(look=look)) == wanted


def entry(module: str) -> str:
    return f"the entry point halve = {module} in the group step.functions of the package halves"


@cases(
    ("mine.halve", "raise OSError('no disk')", f"{entry('mine.halve')} can not be loaded: OSError: no disk"),
    ("mine.nothing", "", f"{entry('mine.nothing')} must be a module called 'halve'"),
    ("absent.halve", "",
     f"{entry('absent.halve')} can not be loaded: ModuleNotFoundError: No module named 'absent'"),
    ("mine.halve:Halve", HALVE, f"{entry('mine.halve:Halve')} must be a module called 'halve'"),
    ("mine.halve", HALVE.replace("Halve", "Add"),
     "the function 'add' is defined twice: by step.functions.elementwise.Add and by mine.halve.Add"),
)  # fmt: skip
def test_a_broken_entry_point_is_an_error_that_names_it(module: str, text: str, error: str, tmp_path: Path) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": module}, {"mine/halve.py": text})
    assert last_line(tmp_path, FIND) == f"step.errors.RegistrationError: {error}"


def test_two_packages_can_not_offer_the_same(tmp_path: Path) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": "mine.halve"}, {"mine/halve.py": HALVE})
    install(tmp_path, "quarters", "step.functions", {"halve": "yours.halve"}, {"yours/halve.py": HALVE})
    found = last_line(tmp_path, FIND)
    texts = {entry("mine.halve"), entry("yours.halve").replace("halves", "quarters")}
    start, _, both = found.partition("there are several of one name: ")
    assert start == "step.errors.RegistrationError: " and set(both.split(" and ")) == texts


def test_what_is_built_in_does_not_ask_for_entry_points(tmp_path: Path) -> None:
    install(tmp_path, "halves", "step.functions", {"halve": "absent.halve"}, {})
    assert last_line(tmp_path, FIND.replace("halve", "add")) == "<class 'step.functions.elementwise.Add'>"


SKIMMING = """
from step import BF16, Graph, Tile

def program():
    graph = Graph()
    graph.source("x", Tile(BF16), [2]).skim()
    return graph
"""


def test_the_command_line_tells_of_a_broken_package(tmp_path: Path) -> None:
    install(tmp_path, "skims", "step.ops", {"skim": "absent.skim"}, {})
    program = filed(tmp_path / "program.py", SKIMMING)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "step", "check", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "error: the entry point skim = absent.skim in the group step.ops of the package skims can not be loaded: "
        "ModuleNotFoundError: No module named 'absent'\n"
    )
