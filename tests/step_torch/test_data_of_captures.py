"""Data for a captured module: taken and rounded as that of any program, within what the capture allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
from click.testing import CliRunner
from raising import raising
from single import Format, Name, Operator, written

import step
import step_torch
from step import bits
from step.errors import FormatError, InputError
from step_cli.verbs.import_ import command
from step_torch.archive import Archive, read_archive
from step_torch.given import as_captured

PAGE = Path(__file__).parent / "captured" / "page.pt2"
LLAMA = PAGE.with_name("llama_prefill.pt2")
ROWS = np.random.default_rng(0).standard_normal((1, 24, 32))
ROUNDED = ROWS.astype(np.float32).astype(ml_dtypes.bfloat16)


def output(**options: Any) -> bytes:
    """What the layer of the page makes of data."""
    program = step_torch.load(PAGE, **options).program
    return np.asarray(step.run(program, backend="interpret").outputs["output"]).tobytes()


@pytest.mark.parametrize(
    "data",
    [
        ROWS.astype(np.float32),
        ROUNDED.astype(np.float64),
        ROUNDED.astype(np.float32).tolist(),
        bits(ROUNDED.view(np.uint16)),
    ],
    ids=["float32", "float64", "lists", "bits"],
)
def test_data_is_rounded_once(data: Any) -> None:
    imported = step_torch.load(PAGE, inputs={"x": data})
    bound = np.asarray(imported.program.inputs["x"])
    assert bound.dtype == ml_dtypes.bfloat16 and np.array_equal(bound, ROUNDED.reshape(-1, 32))
    assert output(inputs={"x": data}) == output(inputs={"x": ROUNDED})


def test_numbers_between_two_are_rounded_once() -> None:
    """By way of float32 it would be 1."""
    data = np.full((1, 4, 32), 1 + 2**-8 + 2**-40)
    assert (np.asarray(step_torch.load(PAGE, inputs={"x": data}).program.inputs["x"]) == 1 + 2**-7).all()


def test_given_numbers_that_are_none_stay() -> None:
    data = np.ones((1, 4, 32))
    data[0, 1, 2], data[0, 2, 3] = np.nan, np.inf
    bound = np.asarray(step_torch.load(PAGE, inputs={"x": data}).program.inputs["x"], np.float64)
    assert np.isnan(bound[1, 2]) and np.isinf(bound[2, 3])


def test_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "numbers.npz", x=ROWS.astype(np.float32))
    np.savez(tmp_path / "bits.npz", **{"x.bits": ROUNDED.view(np.uint16)})
    meant = output(inputs={"x": ROUNDED})
    for name in ("numbers.npz", "bits.npz"):
        assert output(inputs=tmp_path / name) == meant
        into = tmp_path / "page.json"
        done = CliRunner().invoke(command, [str(PAGE), "--inputs", str(tmp_path / name), "-o", str(into)])
        assert done.exit_code == 0, done.output
        run = step.run(step.load_program(into), backend="interpret")
        assert np.asarray(run.outputs["output"]).tobytes() == meant


def test_a_file_with_both(tmp_path: Path) -> None:
    path = tmp_path / "both.npz"
    np.savez(path, **{"x": ROWS, "x.bits": ROUNDED.view(np.uint16)})
    with raising(FormatError, f"{path} has both 'x' and 'x.bits'; one of them must go"):
        step_torch.load(PAGE, inputs=path)


def rows(count: int) -> np.ndarray:
    """So many rows."""
    return np.ones((1, count, 32))


REFUSED: list[tuple[Any, str]] = [
    ({"y": rows(4)}, "the module has no input 'y'; it has x"),
    ({"x": rows(4) * 1e39}, "input 'x' at [0, 0, 0] is 1e+39, but BF16 ends at 3.4e38; give inf if that is meant"),
    ({"x": [[[1.0, "a"]]]}, "input 'x' at [0, 0, 1] is 'a', but must be a number for BF16"),
    ({"x": [[[1.0, 2.0], [3.0]]]}, "input 'x' has rows of different lengths, which is no array"),
    ({"x": rows(4) * 1j}, "input 'x' must be numbers for BF16, not complex128; give array.real"),
    ({"x": ROUNDED.view(np.uint16)},
     "input 'x' is uint16, which could be bit patterns of BF16 or values; give bits(array) (x.bits in an .npz file) "
     "for bit patterns, array.astype(float) for values"),
    ({"x": np.ones((4, 32))}, "input 'x' has 3 dimensions, not 2"),
    ({"x": [[1.0] * 32] * 4}, "input 'x' has 3 dimensions, not 2"),
    ({"x": np.ones((1, 4, 16))}, "axis 2 of input 'x' is 32 in all captures, not 16: name it in dynamic_shapes"),
    ({"x": rows(68)}, "axis 1 of input 'x' makes a dynamic extent 68; its capture allows 2 to 64"),
    ({"x": rows(1)}, "axis 1 of input 'x' makes a dynamic extent 1; its capture allows 2 to 64"),
    ([1, 2], "inputs must be data by name, or the name of an .npz file, not [1, 2]"),
    ({"x": (each for each in rows(4))}, "input 'x' is a generator, which can be read only once: give a list"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_does_not_fit(number: int) -> None:
    data, said = REFUSED[number]
    with raising(InputError, said):
        step_torch.load(PAGE, inputs=data)


@cases(
    (np.ones((8, 16), np.float32), [[0.1] * 16] * 8, np.float32),
    (np.ones((8, 16), np.int64), [[3.0] * 16] * 8, np.int64),
    (np.ones((8, 16), np.int32), np.full((8, 16), 7, np.uint8), np.int32),
    (np.ones((8, 16), bool), np.ones((8, 16), int), bool),
)
def test_formats_of_captures(captured: np.ndarray, given: Any, kept: Any, tmp_path: Path) -> None:
    archive = filed(tmp_path, captured)
    (found,) = as_captured(archive, {"x": given}).values()
    assert found.dtype == kept and np.array_equal(found, np.asarray(given, kept))


@cases(
    (np.int64, 1.5, "input 'x' at [0, 0] is 1.5, which is no integer: INT64 has the integers "
     "-9223372036854775808 to 9223372036854775807"),
    (np.int32, 2**31, "input 'x' at [0, 0] is 2147483648, but INT32 has the integers -2147483648 to 2147483647"),
    (np.uint8, -1, "input 'x' at [0, 0] is -1, but UINT8 has the integers 0 to 255"),
    (bool, 2, "input 'x' at [0, 0] is 2, but BOOL has 0 and 1"),
    (np.float64, 1.0, "input 'x' is float64 in the capture, which no data can be: capture it in bfloat16"),
)  # fmt: skip
def test_data_that_a_format_has_not(captured: Any, given: Any, said: str, tmp_path: Path) -> None:
    with raising(InputError, said):
        as_captured(filed(tmp_path, np.ones((8, 16), captured)), {"x": [[given] * 16] * 8})


def filed(path: Path, captured: np.ndarray) -> Archive:
    """A file with an input like this one."""
    cast = Operator("aten._to_copy.default", [Name("x")], {"y": ("bfloat16", (8, 16))}, {"dtype": Format("bfloat16")})
    return read_archive(written(path / "model.pt2", [cast], {"x": captured}))
