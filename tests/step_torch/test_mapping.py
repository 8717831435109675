"""Mapping: what is found is within the budget and runs as it says; what can not be says what would be needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raising

import step
import step_torch
from step.errors import InputError
from step.lowering.netlist import lower
from step_explore.areas import area_of
from step_explore.sweeps.row import OVER
from step_torch.generating import LanguageModel
from step_torch.mapped import Mapped
from step_torch.tilings import WRITTEN, Tilings

CAPTURED = Path(__file__).parent / "captured"
PAGE = CAPTURED / "page.pt2"
FEW: dict[str, list[Any]] = {"columns": [16], "depth": [0], "side_by_side": [1], "held": [True]}
SMALL: dict[str, list[Any]] = {"rows": [4], "sum": ["ordered"]}
LUTS, RAM = 150_000, 154_000


@pytest.fixture(scope="module")
def found() -> Mapped:
    """Tiles of four and eight rows, and both sums."""
    over = {**FEW, "rows": [4, 8], "sum": ["ordered", "fused"]}
    return step_torch.map(PAGE, luts=LUTS, memory_bytes=RAM, bytes_per_cycle=64, over=over, runs=5)


def test_the_best_is_what_it_says(found: Mapped) -> None:
    best, program = found.best(), found.fitted()
    assert len(found.entries) == 4 and best in found.front
    assert best.lut_sites == round(area_of(lower(program.graph, program.fabric)).lut_sites) <= LUTS
    assert (best.on_chip_bytes or 0) + (best.channel_bytes or 0) + (best.load_bytes or 0) <= RAM
    assert program.fabric.memory.bandwidth == 64
    assert step.run(program, backend="approx").cycles == best.cycles


def test_hardware_has_no_say_in_values(found: Mapped) -> None:
    """The best program, on its hardware, gives what the import of its tiling gives."""
    point = dict(found.best().point)
    meant = step_torch.load(PAGE, tiling=step_torch.Tiling(**{**point, "depth": None})).program
    mine, theirs = (
        np.asarray(step.run(each, backend="interpret").outputs["output"]) for each in (found.fitted(), meant)
    )
    assert mine.any() and np.array_equal(mine, theirs)


def test_others_are_slower(found: Mapped) -> None:
    """Where sums are ordered, the widest hardware is already slower, or that in the budget is."""
    best = found.best()
    assert best.point["sum"] == "fused"
    for row in found.rows:
        assert row.error if row.status == OVER else (row.cycles or 0) >= (best.cycles or 0)


def test_words(found: Mapped) -> None:
    lines, best = found.why.splitlines(), found.best()
    assert lines[0].startswith(f"rows={best.point['rows']}, columns=16, depth=0, sum=fused")
    assert f"{best.cycles:,} cycles, with {best.lut_sites:,} of 150,000 lut_sites" in lines[0]
    assert re.search(r"works? for (more than )?[0-9]+% of the cycles", lines[1])
    changes = [line.split(":")[0] for line in lines if line.startswith("  ")]
    assert changes == ["  other rows", "  other sum", "  within 75,000 lut_sites"]


def test_less_area_and_fewer_bytes(found: Mapped) -> None:
    """The front has what half of the LUT sites do, and choices that are slower with fewer bytes."""
    ((limit, half),) = found.smaller.items()
    assert half.row in found.front and (half.row.lut_sites or 0) <= limit == LUTS // 2
    program = found.fitted(half.row)
    assert round(area_of(lower(program.graph, program.fabric)).lut_sites) == half.row.lut_sites
    assert step.run(program, backend="approx").cycles == half.row.cycles
    over = {**FEW, "rows": [8], "depth": [0, 16], "sum": ["fused"], "held": [False]}
    fast, small = step_torch.map(PAGE, luts=1_200_000, over=over, runs=0).front[:2]
    assert (fast.point["depth"], small.point["depth"]) == (0, 16)
    assert (fast.on_chip_bytes, small.on_chip_bytes) == (22_592, 13_888)


def test_a_whole_language_model() -> None:
    """It writes what it wrote before, in fewer cycles."""
    path = CAPTURED / "language" / "flat.pt2"
    found = step_torch.map(path, luts=400_000, over={**FEW, "sum": ["fused"]}, runs=0)
    model = LanguageModel.load(path)
    whole = model.program(model.begins(), WRITTEN, tiling=step_torch.Tiling(1, sum="fused"))
    mapped, default = (step.run(each, backend="approx", values="all") for each in (found.fitted(), whole))
    assert np.array_equal(mapped.outputs["tokens"], default.outputs["tokens"])
    assert mapped.cycles == found.best().cycles and mapped.cycles < default.cycles


def test_an_impossible_budget_says_what_is_needed() -> None:
    few = {**FEW, **SMALL}
    with raising(
        InputError,
        "no choice is within lut_sites 10,000, memory_bytes 1,000; the nearest, rows=4, columns=16, depth=0, "
        "sum=ordered, side_by_side=1, held=True, needs lut_sites 40,653, memory_bytes 127,016",
    ):
        step_torch.map(PAGE, luts=10_000, memory_bytes=1_000, over=few)
    assert step_torch.map(PAGE, luts=40_700, memory_bytes=127_016, over=few, runs=0).best().cycles


def test_depths_of_channels_bring_it_into_the_memory() -> None:
    """With the depths that an import has, 145,160 bytes are needed."""
    found = step_torch.map(PAGE, luts=LUTS, memory_bytes=127_016, over={**FEW, **SMALL}, runs=0)
    best, program = found.best(), found.fitted()
    assert (best.on_chip_bytes or 0) + (best.channel_bytes or 0) + (best.load_bytes or 0) == 127_016
    assert (best.lut_sites or 0) <= LUTS
    assert step.run(program, backend="approx").cycles == best.cycles


@pytest.mark.parametrize(("at", "rows", "hardware"), [("2 choices", 4, 2), ("1 choices", 4, 1), ("2 of", 2, None)])
def test_ctrl_c_keeps_the_best_so_far(at: str, rows: int, hardware: int | None) -> None:
    def progress(text: str) -> None:
        if text.startswith(at):
            raise KeyboardInterrupt

    over = {**FEW, "rows": [4, 8], "sum": ["ordered", "fused"]}
    if hardware is None:  # just the widest hardware has run, which is over the budget
        with pytest.raises(KeyboardInterrupt):
            step_torch.map(PAGE, luts=LUTS, over=over, progress=progress)
        return
    found = step_torch.map(PAGE, luts=LUTS, over=over, progress=progress)
    assert found.interrupted and (len(found.entries), found.choices) == (rows, 4)
    there = [row for row in found.rows if row.status != OVER]
    assert len(there) == hardware and found.best() in there
    assert step.run(found.fitted(), backend="approx").cycles == found.best().cycles
    if hardware == 1:
        reason = r"at least [0-9,]+ cycles, with any hardware: not looked at, as Ctrl-C came"
        assert all(re.fullmatch(reason, row.error or "") for row in found.rows if row.status == OVER)


def test_choices_divide_what_there_is() -> None:
    def values(name: str) -> dict[str, tuple[Any, ...]]:
        return {each.name: each.values for each in Tilings(CAPTURED / f"{name}.pt2").axes({})}

    sums = ("ordered", "fused")
    few = {"columns": (16, 64), "depth": (0, 16), "sum": sums, "side_by_side": (1, 4), "held": (False, True)}
    assert values("llama_prefill") == {"rows": (4, 8, 16), **few}
    assert values("qwen3_decode") == {"rows": (1,), **few}
    assert values("gpt2_prefill") == {"rows": (4, 8, 16), **few, "columns": (16, 64, 256)}


@cases(
    ({"over": {"row": [4]}},
     "an import has no choice of 'row'; did you mean 'rows'? there are rows, columns, depth, sum, side_by_side, "
     "heads, held, cache_rows"),
    ({"over": {"rows": []}}, "rows has no values to sweep over"),
    ({"luts": -1}, "lut_sites must be a number >= 0, not -1"),
    ({"bytes_per_cycle": 3}, "memory.bandwidth must be the 32 bytes a cycle of a channel times 1, 2, 4, ..: 32, not 3"),
    ({"over": {**FEW, "rows": [0], "sum": ["fused"]}},
     "none of the 1 choices runs; of the last one: Tiling needs rows to be an integer >= 1 or None, not 0"),
)  # fmt: skip
def test_bad_input(given: dict[str, Any], complaint: str) -> None:
    with raising(step.errors.StepError, complaint):
        step_torch.map(PAGE, **{"luts": LUTS, **given})
