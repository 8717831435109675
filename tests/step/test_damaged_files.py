"""Files of which bytes are lost or changed: every reader says so, by a `FormatError` with the file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raised

import step
from step import FP32, Graph, Program, Tile
from step.errors import FormatError, StepError
from step.programs.data.npz import load_inputs, read_array, read_arrays
from step.programs.files.depths import DataSet, DepthBinding
from step.programs.files.fitted import FittedFile
from step.programs.program import load_program
from step.running.result import RunResult
from step_models import read_configuration, read_kv_lengths, read_routing

READ: dict[str, Callable[[Path], Any]] = {
    "r.npz": lambda path: read_routing(path, 4),
    "c.npz": read_arrays,
    "l.npy": read_kv_lengths,
    "p.json": load_program,
    "q.json": RunResult.load,
    "f.json": FittedFile.load,
    "b.json": DepthBinding.load,
    "m.json": read_configuration,
}
"""By file, its reader."""


def program() -> Program:
    graph = Graph("small")
    (graph.source("x", Tile(FP32), [graph.symbol("N")]) + 1).sink("y")
    return Program(graph, {"x": [1, 2]}, expected={"y": [2, 3]})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with one of each kind."""
    np.savez(tmp_path / "r.npz", data=np.array([[0, 1], [1, 2]]))
    np.savez_compressed(tmp_path / "c.npz", data=np.arange(20), other=np.zeros(3, bool))
    np.save(tmp_path / "l.npy", np.array([3, 4]))
    made = program()
    made.save(tmp_path / "p.json")
    step.run(made, "approx").save(tmp_path / "q.json")
    FittedFile.of(made, made.fabric, {"x": 3}, 10, {"lut_sites": 3}).save(tmp_path / "f.json")
    DepthBinding("p", "g", made.fabric.to_json(), (DataSet(None, "a", 3),), {"x": 3}).save(tmp_path / "b.json")
    sizes = {
        "name": "m", "layers": 1, "hidden": 8, "inner": 8, "experts": 2, "experts_per_token": 1, "query_heads": 2,
        "key_value_heads": 1, "head_size": 4, "norm_epsilon": 1e-5,
    }  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps(sizes))
    return tmp_path


def damaged(content: bytes, random: Random, count: int = 60) -> Iterator[bytes]:
    """``content`` cut off, with a bit that is another one, with bytes of nothing, and all of something else."""
    yield from (
        b"", b"\0" * len(content), b"PK\x03\x04", b"\x93NUMPY\x01\x00", '{"é": ['.encode("latin-1"), b"[" * 9999,
    )  # fmt: skip
    for _ in range(count):
        yield content[: random.randrange(len(content))]
        changed = bytearray(content)
        changed[random.randrange(len(content))] ^= 1 << random.randrange(8)
        yield bytes(changed)
        start = random.randrange(len(content))
        yield content[:start] + bytes(random.randrange(1, 20)) + content[start + 5 :]


@pytest.mark.parametrize("name", READ)
def test_damage_is_told(name: str, files: Path) -> None:
    path, read = files / name, READ[name]
    content = path.read_bytes()
    read(path)
    read(str(path))  # type: ignore[arg-type]
    for each in damaged(content, Random(name)):
        path.write_bytes(each)
        try:
            read(path)
        except FormatError as error:
            assert path.stem in str(error)
        except StepError:
            assert name == "p.json"  # a name or a shape that is another one
    path.unlink()
    path.mkdir()
    with pytest.raises(FormatError, match="is a directory, but must be a file"):
        read(path)


@pytest.mark.parametrize("name", ["p.npz", "p.expected.npz"])
def test_damage_beside_a_program_is_told(name: str, files: Path) -> None:
    content = (files / name).read_bytes()
    for each in damaged(content, Random(name)):
        (files / name).write_bytes(each)
        try:
            load_program(files / "p.json")
        except StepError as error:
            assert isinstance(error, FormatError) or "output" in str(error)


def _npy(header: str) -> bytes:
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@cases(
    (_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (10000000000000,), }"),
     "is damaged: it is no whole .npy file"),
    (_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"), "is damaged: it is no whole .npy file"),
    (_npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), "has Python objects; save an array of numbers"),
    (_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,"), "is damaged: it is no whole .npy file"),
    (b"1 2 3\n", "is no .npy file; np.save({path!r}, array) writes one"),
)  # fmt: skip
def test_an_array_that_is_none(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    for read in (read_array, read_kv_lengths):
        assert raised(FormatError, read, path) == f"{path} {message.format(path=str(path))}"


def test_input_data_is_named_by_a_text_too(files: Path) -> None:
    graph = program().graph
    found = [load_inputs(name, graph) for name in (files / "p.npz", str(files / "p.npz"))]
    assert [list(each["x"].reshape(-1)) for each in found] == [[1, 2], [1, 2]]
    with io.StringIO() as text, pytest.raises(StepError) as error:
        load_inputs(text, graph)  # type: ignore[arg-type]
    assert str(error.value).startswith("input data must be given by its name, a text or a Path, not <_io.StringIO")
