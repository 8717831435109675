"""``step tune``: the table, the best program, complaints."""

from __future__ import annotations

from pathlib import Path

import pytest
from commanding import Step

import step as toolkit

SWIGLU = "examples/swiglu.py"


def test_a_table_and_the_best_program(step: Step, tmp_path: Path) -> None:
    best = tmp_path / "best.json"
    found = step("tune", SWIGLU, "--over", "rows=1,2", "--as-is", "--budget", "cycles=10k", "--jobs", 1, "--best", best)
    title, _, first, second, written = found.out.splitlines()
    assert found.code == 0 and written == f"written: {best}"
    assert title == f"{SWIGLU}: 2 points, 1 of them on the front of cycles, lut_sites"
    assert first.split()[:2] == ["1", "over"] and second.split()[:3] == ["*", "2", "finished"]
    assert found.err == "warning: 1 of 2 points: over the budget: cycles 16,633 of 10,000\n"
    assert toolkit.run(best, "approx").cycles == 8_448


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--over", "rows=1", "--over", "rows=2"], "rows is swept over twice"),
        (["--over", "rows=1", "--budget", "luts=5"],
         "there is no budget of 'luts'; there are cycles, lut_sites, lanes, memory_bytes, "
         "on_chip_bytes, channel_bytes, load_bytes, off_chip_bytes, bytes_per_cycle, energy"),
        (["--over", "rows=1", "--within", "much"], "--within must be a percentage such as 5%, not 'much'"),
        (["--over", "row=1..4:legal"],
         "no row from 1 to 4 makes a program; of the last one: examples/swiglu.py:program has no parameter 'row'; did "
         "you mean 'rows'? it has batch, hidden, inner, rows, depth, columns"),
        (["--over", "rows=1", "--case", "seed"], "an argument must be NAME=VALUE, not 'seed'"),
    ],
)  # fmt: skip
def test_bad_usage(step: Step, arguments: list[object], message: str) -> None:
    assert step("tune", SWIGLU, *arguments, "--jobs", 1) == (1, "", f"error: {message}\n")
