"""Modules that read, see and give tensors in other ways: as exact as torch, or an error that says what is missing.

They were captured by `capturing.py`; see `odd.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken import edited
from cases import cases
from raising import raising

import step
import step_torch
from step.errors import InputError
from step_torch.extents import extent_of, solved

STORED = Path(__file__).parent / "captured" / "odd"

RIGHT = (
    "linear_reshaped", "twice", "chunks", "transposed", "permuted", "columns_to_rows", "turned_weight", "seen_weight",
    "tied", "split_columns", "merged_columns", "scalars", "scalar_alone", "same_names", "letters", "unread", "itself",
    "seven_rows", "many_rows", "twice_a_dimension", "read", "plus_transposed", "product_with_itself",
    "attention_by_hand", "gru", "routed",
)  # fmt: skip
HERE = "tests/step_torch/odd.py:32, in the module itself"
MISSING = {
    "no_columns": f"aten.slice.Tensor at {HERE}: its result has no scalars",
}


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_as_exact_as_torch(name: str) -> None:
    check = step_torch.load(STORED / f"{name}.pt2").check()
    assert check.passed and check.error < 0.01


@pytest.mark.parametrize("name", ["linear_reshaped", "permuted", "columns_to_rows", "scalars", "itself", "same_names"])
def test_the_fast_model_ends_with_the_same_bits(name: str) -> None:
    program = step_torch.load(STORED / f"{name}.pt2").program
    timed, meant = step.run(program, backend="approx", values="all"), step.run(program, backend="interpret")
    assert timed.outputs.keys() == meant.outputs.keys()
    for output, each in meant.outputs.items():
        assert np.array_equal(np.asarray(timed.outputs[output]), np.asarray(each))


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_listed(name: str) -> None:
    path = STORED / f"{name}.pt2"
    with pytest.raises(InputError) as caught:
        step_torch.load(path)
    count = MISSING[name].count("\n") + 1
    operators = f"{count} operator{'s' * (count > 1)}"
    assert str(caught.value) == (
        f"'{path}' has {operators} without a lowering (docs/torch.md says how to add one):\n  {MISSING[name]}"
    )


def test_all_files_are_looked_at() -> None:
    assert {path.stem for path in STORED.glob("*.pt2")} == {*RIGHT, *MISSING}


def test_other_rows_where_four_do_not_divide() -> None:
    seven, many = (step_torch.load(STORED / f"{name}.pt2") for name in ("seven_rows", "many_rows"))
    assert seven.notes == (
        "axis 0 of 'args_0' is 7, which tiles of 4 rows do not divide: they have 7; the axis is dynamic, and other "
        "extents may have other tiles",
    )
    assert many.notes == ("axis 1 of 'args_0' is 62, which tiles of 4 rows do not divide: they have 4, the last one 2",)
    asked = step_torch.load(STORED / "seven_rows.pt2", tiling=step_torch.Tiling(7))
    assert not asked.notes and asked.check().passed


@cases(
    ("buffer_mutation", {"buffer_name": "n"}, "changes 'n' (buffer mutation)"),
    ("user_input_mutation", {"user_input_name": "x"}, "changes 'x' (user input mutation)"),
)
def test_state(kind: str, spec: dict[str, str], said: str, tmp_path: Path) -> None:
    """Files of `torch.export` itself, as a capture refuses such a module."""

    def change(model: Any) -> None:
        specs = model["graph_module"]["signature"]["output_specs"]
        specs.insert(0, {kind: {"arg": {"name": "tanh"}, **spec}})

    path = edited(STORED / "unread.pt2", tmp_path / "model.pt2", change)
    with raising(
        InputError,
        f"'{path}' {said}, but a program has no state: return what is new as an output, and give it back as an input",
    ):
        step_torch.load(path)


def test_a_result_that_is_no_tensor(tmp_path: Path) -> None:
    def change(model: Any) -> None:
        model["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"] = {"as_none": True}

    path = edited(STORED / "unread.pt2", tmp_path / "model.pt2", change)
    with raising(InputError, f"output 0 of '{path}' is None: a program takes and gives tensors alone"):
        step_torch.load(path)


def test_extents_of_inputs_are_solved() -> None:
    def size(text: str) -> dict[str, dict[str, str]]:
        return {"as_expr": {"expr_str": text}}

    half = size("Mul(Integer(2), Symbol('s0'))")
    assert solved(half, 8) == ("s0", 4) and solved(half, 7) == ("s0", None)
    assert solved(size("Add(Symbol('s1'), Integer(-3))"), 8) == ("s1", 11)
    assert extent_of(half, {}) == "s0" and solved({"as_int": 8}, 8) == ("", None)
