"""Input data in .npz files: what can be written by hand, and files that are wrong."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
from raising import raised

from step.errors import FormatError, InputError
from step.language.dtypes import BF16, INT32
from step.language.graph import Graph
from step.language.tokens import show
from step.language.types import ElementType, Selector, Tile, Tuple
from step.programs.data.inputs import bind_inputs
from step.programs.data.npz import load_inputs

NUMBER = Tile(INT32)


def a_graph(element: ElementType = NUMBER, rank: int = 1) -> Graph:
    """A source "x" of ragged streams, a tensor "t", and an operator that is no source."""
    graph = Graph("g")
    dims = [graph.symbol(f"D{level}", ragged=level < rank) for level in reversed(range(rank + 1))]
    graph.source("x", element, dims).sink("y")
    graph.tensor("t", (1, 2), BF16)
    return graph


def shown(path: Path, arrays: dict[str, Any], element: ElementType = NUMBER, rank: int = 1) -> str:
    """The stream that source "x" gets, tiles as the sums of their scalars."""
    np.savez(path / "x.npz", **{"t": np.zeros((1, 2)), **arrays})
    graph = a_graph(element, rank)

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return ",".join(str(plain(each)) for each in value)
        return int(value.astype(float).sum()) if isinstance(value, np.ndarray) else value

    tokens = bind_inputs(graph, load_inputs(path / "x.npz", graph)).streams["x"]
    return show(each._replace(value=plain(each.value)) if each.has_value else each for each in tokens)


PAIR = Tuple((NUMBER, Tuple((Selector(2), NUMBER))))
GOOD: list[tuple[dict[str, Any], ElementType, int, str]] = [
    ({"x": [[1, 2], [3, 4]]}, NUMBER, 1, "1 2 S1 3 4 S1 D"),
    ({"x": [1, 2]}, NUMBER, 0, "1 2 D"),
    ({"x.values": [1, 2]}, NUMBER, 0, "1 2 D"),
    ({"x.values": [1, 2, 3], "x.extents.0": [2, 0, 1]}, NUMBER, 1, "1 2 S1 E1 3 S1 D"),
    ({"x.values": [1, 2, 3], "x.extents.0": [2, 0, 1], "x.extents.1": [1, 0, 2]}, NUMBER, 2, "1 2 S2 E2 E1 3 S2 D"),
    ({"x.values": [], "x.extents.0": []}, NUMBER, 1, "D"),
    ({"x.values": [], "x.extents.0": [0, 0]}, NUMBER, 1, "E1 E1 D"),
    ({"x.values": [[[1, 2]], [[3, 4]]], "x.extents.0": [2]}, Tile(INT32, 1, 2), 1, "3 7 S1 D"),
    ({"x.values.bits": [0x3F80, 0x4000], "x.extents.0": [2]}, Tile(BF16), 1, "1 2 S1 D"),
    ({"x.bits": [[0x3F80, 0x4000]]}, Tile(BF16), 1, "1 2 S1 D"),
    ({"x.values": [1.0, 2.0], "x.extents.0": [2]}, Tile(BF16), 1, "1 2 S1 D"),
    ({"x.values": [0, 2, 1], "x.extents.0": [2, 0, 1]}, Selector(3), 1, "1 4 S1 E1 2 S1 D"),
    ({"x.values": [[0, 2], [1, 0]], "x.extents.0": [2]}, Selector(3), 1, "5 3 S1 D"),
    ({"x.values": [[True, False, True]], "x.extents.0": [1]}, Selector(3), 1, "5 S1 D"),
    ({"x": [[0, 1], [2, 2]]}, Selector(3), 1, "1 2 S1 4 4 S1 D"),
    ({"x.values.0": [1, 2], "x.values.1.0": [0, 1], "x.values.1.1.bits": [3, 4], "x.extents.0": [0, 2]}, PAIR, 1,
     "E1 1,1,3 2,2,4 S1 D"),
]  # fmt: skip


@pytest.mark.parametrize(("arrays", "element", "rank", "text"), GOOD)
def test_files(arrays: dict[str, Any], element: ElementType, rank: int, text: str, tmp_path: Path) -> None:
    assert shown(tmp_path, arrays, element, rank) == text


WRONG: list[tuple[dict[str, Any], ElementType, str]] = [
    ({"x.values": [1]}, NUMBER, "{path} needs an array 'x.extents.0': it has the extents of dimension D0 of 'x'"),
    ({"x.values.bits": [1]}, NUMBER, "{path} needs an array 'x.extents.0': it has the extents of dimension D0 of 'x'"),
    ({"x.values": [1, 2], "x.extents.0": [2, 1]}, NUMBER,
     "{path}: 'x.extents.0' adds up to 3, but 'x.values' has 2 entries"),
    ({"x.values": [1], "x.extents.0": [-1, 2]}, NUMBER, "{path}: 'x.extents.0' must be integers >= 0, one per tensor"),
    ({"x.values": [1], "x.extents.0": [1.0]}, NUMBER, "{path}: 'x.extents.0' must be integers >= 0, one per tensor"),
    ({"x.values": [1], "x.extents.0": 1}, NUMBER, "{path}: 'x.extents.0' must be integers >= 0, one per tensor"),
    ({"x.values": [1], "x.extents.0": ["a"]}, NUMBER, "{path}: 'x.extents.0' must be integers >= 0, one per tensor"),
    ({"x.values": 1, "x.extents.0": [1]}, NUMBER,
     "{path}: 'x.values' must have an entry per value, not be a single number"),
    ({"x.values": [1], "x.extents.0": [1], "x.extents.1": [1]}, NUMBER,
     "{path}: 'x.extents.1' does not belong to what the file has for 'x'"),
    ({"x": [[1]], "x.extents.0": [1]}, NUMBER, "{path}: 'x.extents.0' does not belong to what the file has for 'x'"),
    ({"x.extents.0": [1]}, NUMBER, "{path}: 'x.extents.0' does not belong to what the file has for 'x'"),
    ({"x": [[1]], "x.values": [1], "x.extents.0": [1]}, NUMBER,
     "{path} has both 'x' and 'x.values'; one of them must go"),
    ({"x": [[1]], "x.bits": [[1]]}, NUMBER, "{path} has both 'x' and 'x.bits'; one of them must go"),
    ({"x.values.0": [1], "x.extents.0": [1]}, PAIR,
     "{path} needs an array 'x.values.1.0': it has values of Selector(2)"),
    ({"x.values.0": [1, 2], "x.values.1.0": [0], "x.values.1.1": [1], "x.extents.0": [1]}, PAIR,
     "{path}: the items of 'x.values' have 2, 1 entries, but must have as many"),
    ({"x.values": [1, 2, 3], "x.values.tiles": [[1, 2]], "x.extents.0": [1]}, NUMBER,
     "{path}: 'x.values.tiles' are not the shapes of the scalars in 'x.values'"),
    ({"x.values": [1, 2, 3], "x.values.tiles": [3], "x.extents.0": [1]}, NUMBER,
     "{path}: 'x.values.tiles' must be integers >= 0, rows and columns per tile"),
]  # fmt: skip


@pytest.mark.parametrize(("arrays", "element", "message"), WRONG)
def test_files_that_are_wrong(arrays: dict[str, Any], element: ElementType, message: str, tmp_path: Path) -> None:
    assert raised(FormatError, lambda: shown(tmp_path, arrays, element)) == message.format(path=tmp_path / "x.npz")


@cases(
    ({"x.values": [1, 1.5], "x.extents.0": [1, 1]}, NUMBER,
     "input 'x' at [1, 0] is 1.5, which is no integer: INT32 has the integers -2147483648 to 2147483647"),
    ({"x": np.ones((1, 1), ml_dtypes.bfloat16)}, Tile(BF16),
     "input 'x' must be numbers for BF16, not |V2; NumPy saves bfloat16 like this: "
     "save array.view(np.uint16) as x.bits, or give bits(array.view(np.uint16))"),
    ({"x": [[1]], "y": 1}, NUMBER, "the program has no tensor or source 'y'; it has t, x"),
    ({"x": [[1]], "y.values": [1]}, NUMBER, "the program has no tensor or source 'y.values'; it has t, x"),
)  # fmt: skip
def test_data_that_does_not_fit(arrays: dict[str, Any], element: ElementType, message: str, tmp_path: Path) -> None:
    assert raised(InputError, lambda: shown(tmp_path, arrays, element)) == message


def cut_off(path: Path) -> None:
    np.savez(path, x=np.arange(1000))
    path.write_bytes(path.read_bytes()[:-100])


def damaged(path: Path) -> None:
    np.savez(path, x=np.arange(1000))
    data = bytearray(path.read_bytes())
    data[500] ^= 0xFF
    path.write_bytes(data)


def no_array(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


def single(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.arange(3))


FILES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda path: None, "there is no file '{path}'"),
    (lambda path: path.mkdir(), "'{path}' is a directory, but must be a file"),
    (lambda path: path.write_bytes(b""), "{path} is damaged: it is no whole .npz file"),
    (lambda path: path.write_bytes(b"not zipped"), "{path} is no .npz file; np.savez('{path}', NAME=array) writes one"),
    (cut_off, "{path} is damaged: it is no whole .npz file"),
    (damaged, "{path} is damaged: 'x' can not be read"),
    (single, "{path} is a single array without a name (.npy); save it by np.savez(path, NAME=array)"),
    (no_array, "{path}: 'readme.txt' is no array"),
    (lambda path: np.savez(path, x=np.array([1, "a", None], object)),
     "{path}: 'x' has Python objects; save an array of numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "message"), FILES)
def test_files_that_can_not_be_read(write: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    write(path)
    assert raised(FormatError, lambda: load_inputs(path, a_graph())) == message.format(path=path)
