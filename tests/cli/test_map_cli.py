"""``step map``: a budget on the command line, the table, the words, and a program that runs."""

from __future__ import annotations

import json
from functools import wraps
from pathlib import Path

import pytest
from commanding import ROOT, Step
from progress_lines import interrupting

from step_torch.mapped import map

PAGE = ROOT / "tests" / "step_torch" / "captured" / "page.pt2"
FEW = (
    "--over", "rows=4", "--over", "columns=16", "--over", "depth=0", "--over", "side_by_side=1", "--over",
    "held=true",
)  # fmt: skip
QUICK = (*FEW, "--over", "sum=fused", "--runs", 0)


def test_a_program_on_its_hardware(step: Step, tmp_path: Path) -> None:
    best, rows = tmp_path / "best.json", tmp_path / "rows.csv"
    done = step("map", PAGE, "--luts", "150k", *QUICK, "--best", best, "--save", rows)
    assert done.code == 0
    assert "page: 2 points, 2 of them on the front of cycles, lut_sites, on_chip_bytes" in done.out
    assert "0 choices are over the budget, or slower with any hardware" in done.out
    assert "rows=4, columns=16, depth=0, sum=fused, side_by_side=1, held=True is the fastest: " in done.out
    assert "  within 75,000 lut_sites: " in done.out
    header, row, _ = (line.split(",") for line in rows.read_text().splitlines())
    cycles = row[header.index("cycles")]
    assert json.loads(step("run", best, "--backend", "approx", "--json").out)["cycles"] == int(cycles)


def test_a_budget_that_nothing_is_within(step: Step) -> None:
    failed = step("map", PAGE, "--luts", "10k", *QUICK)
    assert (failed.code, failed.err.splitlines()[-1]) == (
        1,
        "error: no choice is within lut_sites 10,000; the nearest, rows=4, columns=16, depth=0, sum=fused, "
        "side_by_side=1, held=True, needs lut_sites 58,141",
    )


def test_ctrl_c_keeps_the_best_so_far(step: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"progress": interrupting("1 choices")}
    monkeypatch.setattr("step_cli.verbs.map_.map", wraps(map)(lambda **options: map(**options | told)))
    best = tmp_path / "best.json"
    done = step("map", PAGE, "--luts", "150k", *FEW, "--best", best)
    assert (done.code, done.err) == (
        130, "the best so far: 2 of 2 choices have run, and 1 within the budget\n\ninterrupted\n"
    )  # fmt: skip
    assert "1 choices are over the budget, or slower with any hardware, or not looked at" in done.out
    assert step("check", best).code == 0
