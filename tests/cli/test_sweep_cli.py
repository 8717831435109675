"""``step sweep``: tables, files, plots, exit codes and exact complaints."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cases import cases
from commanding import Step

SWIGLU = "examples/swiglu.py"


def test_the_table_of_the_documentation(step: Step) -> None:
    text = Path("docs/sweeps.md").read_text()
    command = "step sweep examples/swiglu.py --over rows=2,4 --over columns=8,16"
    wanted = text.partition(f"$ {command}\n")[2].partition("```")[0]
    assert wanted and step(*command.split()[1:], "--jobs", 1) == (0, wanted, "")


def test_rows_as_json_with_warnings(step: Step) -> None:
    result = step("sweep", SWIGLU, "--over", "memory.channels=1,3,6", "--jobs", 1, "--json", "--set", "fabric.stages=4")
    rows = json.loads(result.out)
    assert [(row["memory.channels"], row["status"], row["front"]) for row in rows] == [
        (1, "finished", True), (3, "refused", False), (6, "refused", False)
    ]  # fmt: skip
    assert result.code == 0 and result.err == (
        "warning: 1 of 3 points: memory.channels must be a power of two, not 3\n"
        "warning: 1 of 3 points: memory.channels must be a power of two, not 6\n"
    )


def test_files_and_a_plot(step: Step, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    table, plot = tmp_path / "rows.csv", tmp_path / "front.svg"
    arguments = ("sweep", SWIGLU, "--over", "rows=2,4", "--save", table, "--plot", plot, "--jobs", 1)
    first = step(*arguments)
    assert (first.code, first.out.splitlines()[-2:], first.err) == (0, [f"written: {table}", f"written: {plot}"], "")
    content = table.read_text(), plot.read_bytes()
    assert content[0].startswith("rows,status,cycles,") and content[0].count("\n") == 3
    assert all(
        text in content[1]
        for text in (b"rows=2", b"rows=4", b"on-chip memory [kB]", b"cycles", b"front", b"static tiles")
    )
    assert step(*arguments) == first and (table.read_text(), plot.read_bytes()) == content


def test_what_changes_nothing_is_said(step: Step) -> None:
    over = ("--over", "rows=2,4", "--over", "lanes.gate_projection=16,64")
    idle = "warning: lanes.gate_projection changes nothing at these points\n"
    assert step("sweep", SWIGLU, *over, "--jobs", 1).err == idle
    same = "warning: on_chip_bytes is the same at all points; --objective takes others, such as lut_sites\n"
    assert step("sweep", SWIGLU, "--over", "memory.channels=1,2", "--jobs", 1).err == same


def test_nothing_to_sweep_over(step: Step) -> None:
    assert step("sweep", SWIGLU).failed() == "error: missing option '--over'\n  see step sweep --help\n"


@cases(
    ("pyarrow", ["--save", "r.parquet"],
     "Parquet needs the module pyarrow; install it with: pip install 'step-fabric[sweeps]'"),
    ("matplotlib", ["--plot", "p.svg"],
     "a plot needs the module matplotlib; install it with: pip install 'step-fabric[plots]'"),
    ("distributed", ["--scheduler", "tcp://localhost:1"],
     "a sweep on a cluster needs the module distributed; install it with: pip install 'step-fabric[cluster]'"),
)  # fmt: skip
def test_modules_that_are_missing(
    module: str, options: list[object], message: str, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert step("sweep", SWIGLU, "--over", "rows=2,4", *options) == (3, "", f"error: {message}\n")
