"""A notebook: places are cells, and errors look like those of the command line."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELLS = (
    """
import step
from step import FP32, Graph, Program, Tile
graph = Graph("g")
x = graph.source("x", Tile(FP32), [2])
x
""",
    """
def twice(stream):
    return stream + "a"

twice(x)
""",
    'x.sink("y")\nprogram = Program(graph, {"x": [1, 2]})\nprogram.run',
    'program.save("p.json")\nstep.load_program("p.json") == program, graph.nodes["y"].location',
    'step.run("nowhere.py")',
    'import os\nos.environ["STEP_TRACEBACK"] = "1"\nstep.run("nowhere.py")',
)


def test_errors_point_at_cells(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each.strip()) for each in CELLS])
    patient = {"timeout": None, "startup_timeout": 3600, "iopub_timeout": 3600}
    NotebookClient(book, allow_errors=True, resources={"metadata": {"path": tmp_path}}, **patient).execute()
    shown = [each.outputs[0] if each.outputs else None for each in book.cells]
    assert set(shown[0].data) == {"text/plain", "image/svg+xml"}
    red = "\x1b[1;31merror:\x1b[0m "
    assert shown[1].traceback == [
        f"{red}Cell 2, line 2: a constant of FP32 must be numbers that FP32 has, not 'a'",
        "  Cell 2, line 4, in <module>: twice(x)",
    ]
    assert shown[3].data["text/plain"] == "(True, Location(file='Cell 3', line=1))"
    assert shown[4].traceback == [
        f"{red}there is no file 'nowhere.py'",
        '  Cell 5, line 1, in <module>: step.run("nowhere.py")',
    ]
    assert shown[5].traceback[0] == "Traceback (most recent call last):"
    assert shown[5].traceback[-1].startswith("step.errors.FormatError: there is no file 'nowhere.py'")
