"""Layers of transformers as programs: as exact as torch, all values on both engines, and what their joins hold."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from grids import grid

import step
import step_torch
from step_torch.registry import lowerings

FOLDER = Path(__file__).parent / "captured"
CAPTURED = sorted(FOLDER.glob("*_*.pt2"))
LLAMA, ROUTED = FOLDER / "llama_prefill.pt2", FOLDER / "qwen3moe_prefill.pt2"
NAMES = [path.stem for path in CAPTURED]


@pytest.fixture(params=CAPTURED, ids=NAMES, scope="module")
def imported(request: pytest.FixtureRequest) -> step_torch.Imported:
    """A stored layer."""
    return step_torch.load(request.param)


def test_there_are_layers_of_each_kind() -> None:
    assert len(CAPTURED) >= 4 and {name.split("_")[1] for name in NAMES} == {"prefill", "decode"}
    assert all(path.stat().st_size <= 100_000 for path in CAPTURED)


def test_a_layer_is_as_exact_as_torch(imported: step_torch.Imported) -> None:
    check = imported.check()
    assert check.passed and 0 < check.error <= 1.1 * check.torch_error < 0.01


def test_the_fast_model_ends_with_the_same_bits(imported: step_torch.Imported) -> None:
    program = imported.program
    timed = step.run(program, backend="approx", values="all")
    meant = step.run(program, backend="interpret")
    assert timed.result.status == "finished" and timed.cycles is not None
    assert np.array_equal(*(np.asarray(each.outputs["output"]) for each in (timed, meant)))


def test_joins_hold_little(imported: step_torch.Imported) -> None:
    held = sum(each.bytes for each in imported.joins())
    assert 0 < held <= 0.15 * imported.intermediate_bytes


def test_operators_stand_at_lines_of_the_model(imported: step_torch.Imported) -> None:
    files = {node.location.file.split("/")[0] for node in imported.lowered.graph if "output" not in node.name}
    assert files == {"transformers"}


def test_an_import_needs_no_torch_and_takes_less_than_a_second() -> None:
    code = (
        "import sys, time, step_torch\n"
        f"step_torch.load({str(CAPTURED[0])!r})\n"  # all of Python's own files are read
        "started = time.process_time()\n"
        f"step_torch.load({str(CAPTURED[1])!r})\n"
        "assert time.process_time() - started < 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(step.__file__).parents[1])
    assert time.monotonic() > started


def test_other_extents_of_a_dynamic_axis() -> None:
    random = np.random.default_rng(0)
    data = {name: random.standard_normal((1, 24, width)) for name, width in (("x", 32), ("rest_0", 16), ("rest_1", 16))}
    rounded = {name: each.astype(ml_dtypes.bfloat16) for name, each in data.items()}
    longer = step_torch.load(LLAMA, inputs=rounded)
    assert np.asarray(step.run(longer.program, backend="interpret").outputs["output"]).size == 24 * 32
    assert longer.host == ["x: bfloat16 [1, 24, 32]", "rest_0: bfloat16 [1, 24, 16]", "rest_1: bfloat16 [1, 24, 16]"]


@grid(rows=[1, 2, 8, 16], columns=[8, 32], held=[True, False])
def test_any_tiles_give_the_same_bits(rows: int, columns: int, held: bool) -> None:
    """Products are summed in the same order, whatever the tiles are; attention is not, along tiles of keys."""
    check = step_torch.load(LLAMA, tiling=step_torch.Tiling(rows, columns, held)).check()
    assert check.passed


def test_columns_that_do_not_divide_a_weight() -> None:
    """Weights of 32 and of 64 columns come in tiles of 8."""
    odd, even = (step_torch.load(ROUTED, tiling=step_torch.Tiling(columns=columns)) for columns in (12, 8))
    assert odd.check().passed and [str(node) for node in odd.lowered.graph] == [
        str(node) for node in even.lowered.graph
    ]


def test_experts_do_not_deadlock_wherever_rows_go() -> None:
    program = step_torch.load(ROUTED).program
    simulator, random = step.Simulator(program), np.random.default_rng(1)
    for spread in (0.0, 0.3, 1.0, 3.0) * 6:
        rows = random.standard_normal((1, 32)) + spread * random.standard_normal((16, 32))
        simulator.run({**program.inputs, "x": rows.astype(ml_dtypes.bfloat16)})


def test_a_join_through_memory() -> None:
    spilled = step_torch.load(LLAMA, tiling=step_torch.Tiling(on_chip=512))
    kinds = [each.kind for each in spilled.joins()]
    assert kinds.count("a way through off-chip memory") == 2 and "Bufferize and Streamify" not in kinds
    assert spilled.check() == step_torch.load(LLAMA).check()
    assert step.run(spilled.program, backend="approx").cycles is not None


def test_lowerings_say_what_they_take() -> None:
    assert len(lowerings()) > 30 and all(each.__doc__ for each in lowerings().values())
