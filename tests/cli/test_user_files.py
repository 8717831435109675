"""Users' Python files that go wrong: one message with their own lines, and never a traceback."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cases import cases
from commanding import Step, in_a_process

NULL_BYTES = "SyntaxError" if sys.version_info >= (3, 11, 4) else "ValueError"
"""What Python calls a source with null bytes."""

HEAD = """\
import sys
import numpy as np
from step import BF16, Graph, Program, Tile
"""
GOOD = """\
def program():
    graph = Graph("good")
    graph.source("x", Tile(BF16), [3]).sink("y")
    return Program(graph, {"x": [1, 2, 3]})
"""


@pytest.fixture
def here(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, so that messages have no paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cases(
    ("def program():\n    return undefined\n",
     "p.py:program: NameError: name 'undefined' is not defined\n  p.py:5, in program: return undefined"),
    ("def half():\n    return 1 / 0\ndef program():\n    return half()\n",
     "p.py:program: ZeroDivisionError: division by zero\n"
     "  p.py:7, in program: return half()\n  p.py:5, in half: return 1 / 0"),
    ("def program(:\n", "p.py: SyntaxError: invalid syntax\n  p.py:4, def program(:"),
    ("def program():\nreturn 1\n",
     "p.py: IndentationError: expected an indented block after function definition on line 4\n  p.py:5, return 1"),
    ("import absent_module\n",
     "p.py: ModuleNotFoundError: No module named 'absent_module'\n  p.py:4, in <module>: import absent_module"),
    ("from helper import Nothing\n",
     "p.py: SyntaxError: '(' was never closed\n"
     "  p.py:4, in <module>: from helper import Nothing\n  helper.py:1, broken("),
    ("sys.exit(0)\n", "p.py ends Python (exit code 0)\n  p.py:4, in <module>: sys.exit(0)"),
    ("def program():\n    sys.exit('enough')\n",
     "p.py:program ends Python (exit code enough)\n  p.py:5, in program: sys.exit('enough')"),
    ("def program(size):\n    pass\n",
     "p.py:program: TypeError: program() missing 1 required positional argument: 'size'"),
    ("def program():\n    yield Graph('g')\n",
     "p.py:program must return a Program, a Graph, or a list of them, not generator"),
    ("def program():\n    raise KeyError\n", "p.py:program: KeyError\n  p.py:5, in program: raise KeyError"),
    ("def deeper(n):\n    return deeper(n + 1)\ndef program():\n    return deeper(0)\n", None),
    ("class Tile2(Tile):\n    @property\n    def is_static(self):\n        return self.absent\n"
     "def program():\n    graph = Graph('g')\n    graph.source('x', Tile2(BF16), [3]).sink('y')\n"
     "    return graph\n",
     "AttributeError: 'Tile2' object has no attribute 'absent'\n  p.py:7, in is_static: return self.absent"),
)  # fmt: skip
def test_what_a_file_raises(body: str, message: str | None, step: Step, here: Path) -> None:
    (here / "helper.py").write_text("broken(\n")
    (here / "p.py").write_text(HEAD + body)
    err = step("check", "p.py").failed()
    if message is None:
        lines = err.splitlines()
        assert lines[0].startswith("error: p.py:program: RecursionError: maximum recursion depth exceeded")
        assert len(lines) == 10 and lines[1] == "  p.py:7, in program: return deeper(0)"
        assert lines[5].startswith("  ... ") and lines[5].endswith(" more ...")
    else:
        assert err == f"error: {message}\n"


def test_what_a_model_refuses_is_told_with_the_line_that_asked_for_it(step: Step, here: Path) -> None:
    body = "from step_models import moe\ndef program():\n    return moe.program(np.array([[0, 9]]), experts=8)\n"
    (here / "p.py").write_text(HEAD + body)
    assert step("check", "p.py").failed() == (
        "error: routing: expert ids must be 0 to 7, but go from 0 to 9\n"
        "  p.py:6, in program: return moe.program(np.array([[0, 9]]), experts=8)\n"
    )


def test_a_typo_in_an_operator(step: Step, here: Path) -> None:
    (here / "p.py").write_text(HEAD + 'def program():\n    Graph("g").sorce("x", Tile(BF16), [3])\n')
    result = step("check", "p.py")
    head, line = result.err.splitlines()
    assert result.code == 1
    assert head.startswith("error: p.py:program: AttributeError: a graph has no operator 'sorce'; ")
    assert line == '  p.py:5, in program: Graph("g").sorce("x", Tile(BF16), [3])'


@cases(
    (b"x = '\xff'\n", "SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff in position 0: "),
    (b"x = 1\0\n", f"{NULL_BYTES}: source code string cannot contain null bytes\n"),
)
def test_a_file_that_is_no_text(content: bytes, message: str, step: Step, here: Path) -> None:
    (here / "p.py").write_bytes(content)
    assert step("check", "p.py").failed().startswith(f"error: p.py: {message}")


def test_imports_in_a_circle(step: Step, here: Path) -> None:
    (here / "first.py").write_text("from second import two\none = 1\n")
    (here / "second.py").write_text("from first import one\ntwo = 2\n")
    err = step("check", "first.py").failed()
    assert err.splitlines()[0].startswith(
        "error: first.py: ImportError: cannot import name 'two' from partially initialized module 'second'"
    )
    assert [line.partition(",")[0] for line in err.splitlines()[1:]] == [
        "  first.py:1", "  second.py:1", "  first.py:1"
    ]  # fmt: skip


@cases(
    ("Program(7)", "a program's graph must be a Graph, not 7\n  p.py:5, in program: Program(7)"),
    ("Tile(BF16, -1, 2)", "p.py:5: the rows of a tile must be an integer >= 1 or a symbol, not -1"),
)
def test_errors_have_one_line(line: str, message: str, step: Step, here: Path) -> None:
    """Of the program where they have none, as those of types have."""
    (here / "p.py").write_text(f"{HEAD}def program():\n    {line}\n")
    assert step("check", "p.py") == (1, "", f"error: {message}\n")


def test_names_of_formats_are_taken(step: Step, here: Path) -> None:
    (here / "p.py").write_text(HEAD + GOOD.replace("Tile(BF16)", 'Tile("BF16")'))
    assert step("run", "p.py", "--backend", "approx").code == 0


def test_what_a_file_prints_is_talk(step: Step, here: Path) -> None:
    (here / "p.py").write_text(HEAD + 'print("loading")\n' + GOOD.replace("graph =", 'print("making")\n    graph ='))
    result = step("check", "p.py", "--json")
    assert json.loads(result.out)["program"] == "good" and result.err == "loading\nmaking\n"


def test_the_traceback_for_those_who_want_it(here: Path) -> None:
    (here / "p.py").write_text(HEAD + "def program():\n    return undefined\n")
    code, _, err = in_a_process("check", here / "p.py", STEP_TRACEBACK="1")
    assert code == 1 and "Traceback (most recent call last):" in err and "name 'undefined' is not defined" in err
