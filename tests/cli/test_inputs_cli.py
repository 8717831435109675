"""``step inputs``: what it writes, what it prints where, and that `step run --inputs` takes it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from commanding import Step, program

SIMPLE = "examples/moe_simple.py"
MIXTRAL = "examples/moe_mixtral.py"


ragged = program("ragged")


@pytest.mark.parametrize("options", [[], ["--random", "3"]])
def test_an_example_takes_it(step: Step, options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    assert step("inputs", SIMPLE, "-o", file, *options).ok().splitlines() == [
        "x: float32 [10, 16]", "weight0: float32 [16, 64]", "weight1: float32 [16, 64]", "routing: bool [10, 2]"
    ]  # fmt: skip
    for backend in ("interpret", "approx"):
        step("run", SIMPLE, "--inputs", file, "--backend", backend).ok()
    with np.load(file) as archive:
        assert archive["x"].any() == bool(options)


@pytest.mark.parametrize("options", [[], ["--random", "3"], ["--random", "4", "--bind", "N=5", "--bind", "R=7"]])
def test_a_ragged_program_takes_it(step: Step, ragged: Path, options: list[str], tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    assert step("inputs", ragged, "-o", file, *options).code == 0
    step("run", ragged, "--inputs", file, "--backend", "approx").ok()


def test_what_is_written(step: Step, ragged: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    assert json.loads(step("inputs", ragged, "-o", file, "--bind", "N=3", "--bind", "R=4", "--json").ok()) == {
        "x.values": {"dtype": "float32", "shape": [4, 1, 2]},
        "x.extents.0": {"dtype": "int64", "shape": [3]},
        "which": {"dtype": "bool", "shape": [3, 2]},
        "scale": {"dtype": "float32", "shape": [3, 1, 1]},
    }
    with np.load(file) as archive:
        assert archive["x.extents.0"].tolist() == [2, 1, 1] and archive["which"].tolist() == [[True, False]] * 3


def test_a_program_that_fails_on_it_is_warned_of(step: Step, tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    result = step("inputs", MIXTRAL, "-o", file, "--random", "1")
    assert result.code == 0 and file.is_file() and "routing: bool [64, 8]" in result.out
    assert result.err.startswith(
        "warning: the program fails on this data, so some inputs depend on each other in a way that shapes do not say; "
        "edit the file, or keep the program's own with --keep NAME: map 'expert0_weighted' (step_models/mixture.py:"
    )
    step("inputs", MIXTRAL, "-o", file, "--random", "1", "--keep", "routing", "--keep", "choice").ok()
    assert step("run", MIXTRAL, "--inputs", file, "--backend", "approx").code == 0


@cases(
    (["--bind", "K=1"], "the program has no symbol 'K'; it has N, R, route_D0, route_D1, route_R_0, route_R_1"),
    (["--bind", "route_D0=1"], "symbol 'route_D0' can not be chosen: it follows from the data of 'x', 'which'"),
    (["--bind", "N"], "a binding must be NAME=VALUE with an integer >= 0, not 'N'"),
    (["--keep", "x"], "input 'x' can not be kept: the program has no data"),
)
def test_wrong_options(options: list[str], message: str, step: Step, ragged: Path, tmp_path: Path) -> None:
    assert step("inputs", ragged, "-o", tmp_path / "x.npz", *options) == (1, "", f"error: {message}\n")
    assert not (tmp_path / "x.npz").exists()


def test_what_can_not_be_written(step: Step, ragged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = step("inputs", ragged, "-o", tmp_path / "file" / "x.npz")
    assert result.code == 1 and result.err == f"error: {tmp_path}/file/x.npz can not be written: Not a directory\n"
