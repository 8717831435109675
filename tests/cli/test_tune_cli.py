"""``step tune``: the table, the best program, complaints."""

from __future__ import annotations

from pathlib import Path

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
