"""What editors and type checkers know of operators and functions, which register themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import step
from step.language.fluent import GraphMethods, StreamMethods

ROOT = Path(step.__file__).parents[1]

PROGRAM = """
from step import BF16, Graph, Tile
from step.functions import Add

graph = Graph()
x = graph.source("x", Tile(BF16), [4])
parts = x.partition(graph.selectors("which", 2, [4]), targets=2)
reveal_type(parts)
reveal_type(x.promote().accum(Add()))
reveal_type(x.reshape(2))
x.partition(3, targets=2)
x.flaten(0, 1)
graph.lod()
from step.functions import Nothing
"""


def test_every_method_is_in_the_stub() -> None:
    text = (ROOT / "step" / "language" / "fluent.pyi").read_text()
    defined = set(re.findall(r"^    def (\w+)\(", text, re.MULTILINE)) - {"add_method"}
    methods = [*StreamMethods.methods.items(), *GraphMethods.methods.items()]
    assert defined == {name for name, each in methods if each.__module__.startswith(("step.ops.", "step.library."))}


def test_a_type_checker_sees_the_methods(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "program.py"]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), "--no-error-summary", "--hide-error-codes"]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    stream = "step.language.stream.Stream"
    lines = [line.partition(": ") for line in done.stdout.replace("builtins.", "").splitlines()]
    assert [text for place, _, text in lines if place.startswith("program.py")] == [  # a newer NumPy has other types
        f'note: Revealed type is "tuple[{stream}, ...]"',
        f'note: Revealed type is "{stream}"',
        f'note: Revealed type is "tuple[{stream}, {stream}]"',
        'error: Argument 1 to "partition" of "StreamMethods" has incompatible type "int"; expected "Stream"',
        'error: "Stream" has no attribute "flaten"',
        'error: "Graph" has no attribute "lod"',
        'error: Module "step.functions" has no attribute "Nothing"',
    ], done.stdout + done.stderr


@pytest.mark.parametrize("package", ["step", "hw", "sim_approx", "cosim"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
    assert '"*" = ["py.typed", "*.pyi"]' in (ROOT / "pyproject.toml").read_text()
