"""Outputs of a run, as arrays, and the table of what its operators did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from step.host.figures import GREEN, ORANGE, SKY
from step.host.names import ByName
from step.language.dims import format_shape
from step.language.operator import StreamType
from step.language.tiling import stored
from step.language.tokens import Token, extents_of, to_nested
from step.language.types import ElementType, Selector, Tile, Tuple
from step.programs.data.inputs import join_tiles
from step.programs.program import Program
from step.programs.tables import bar, table
from step.running.result import RunResult


class Ragged(NamedTuple):
    """``values`` of all elements, one after the other, and where the tensors of each dimension begin and end in what
    is inside of it: an array per dimension but the outermost one, outermost first. Row i of D0 has the elements
    ``row_splits[-1][i]`` to ``row_splits[-1][i + 1]`` - 1."""

    values: Any
    row_splits: tuple[np.ndarray, ...]


@dataclass(frozen=True, repr=False, eq=False)
class Output:
    """An output of a run: the ``tokens`` that left through a sink or store, without Done, or a tensor that was stored.

    NumPy's functions take it for the array that `numpy` gives. ``type`` is that of the stream, or of the stored tensor
    in tiles; ``is_tensor`` says which.

    >>> output = step.run(program, "interpret").outputs["y"]
    >>> output, len(output), np.sum(output)
    (<output y: [N] of Tile(FP32, 1, 1)>, 2, np.float32(21.0))
    >>> output.numpy().shape
    (2, 1, 1)
    """

    name: str
    type: StreamType
    tokens: Sequence[Token]
    is_tensor: bool = False

    def numpy(self) -> Any:
        """An array with the dimensions of the stream, and behind them the rows and columns of a tile: ``[*dims, rows,
        cols]``; of a stored tensor its own shape.

        Selectors are booleans ``[*dims, targets]``; tuples are a tuple of arrays. Raises `ValueError` where extents
        differ from tensor to tensor, or tiles in size, and for buffers.
        """
        dims = tuple(self._extent(level, found) for level, found in enumerate(self._extents()))
        values = self._values()
        if self.is_tensor:
            return join_tiles(values.reshape(*dims, *values.shape[1:]))
        return _shaped(values, dims)

    def nested(self) -> list[Any]:
        """Lists as deep as the stream has dimensions; of a stored tensor the lists of its tiles.

        Their entries are arrays for tiles, masks for selectors, and tuples.
        """
        return to_nested(self.tokens, self.type.rank)

    def ragged(self) -> Ragged:
        """Values and row splits, whatever the extents; raises `ValueError` for tiles that differ in size."""
        splits = (np.cumsum([0, *extents], dtype=np.int64) for extents in self._extents()[1:])
        return Ragged(self._values(), tuple(splits))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if isinstance(array, tuple):
            raise ValueError(f"output {self.name!r} is no array: it has tuples; numpy() gives an array for each item")
        return np.array(array, dtype)

    def __len__(self) -> int:
        """Tensors of the outermost dimension."""
        return len(self.nested())

    def __repr__(self) -> str:
        return f"<output {self.name}: {self.type}>"

    def _repr_html_(self) -> str:
        count = sum(each.has_value for each in self.tokens)
        first = next((each.value for each in self.tokens if each.has_value), "-")
        return table(("output", "type", "elements", "the first one"), [(self.name, self.type, count, first)])

    def _values(self) -> Any:
        return _column([each.value for each in self.tokens if each.has_value], self.type.element, self.name)

    def _extents(self) -> list[list[int]]:
        """Extents of all tensors per dimension, outermost first."""
        return extents_of([self.nested()], len(self.type.shape))

    def _extent(self, level: int, found: Sequence[int]) -> int:
        """The one extent of a dimension; where no tensor shows it the static one, or 0."""
        if len(set(found)) > 1:
            raise ValueError(
                f"output {self.name!r} is no array: dimension {level} of {format_shape(self.type.shape)} has "
                f"{min(found)} to {max(found)} elements; nested() gives lists, ragged() values and row splits"
            )
        declared = self.type.shape[level]
        return found[0] if found else int(declared) if declared.is_static else 0


def outputs_of(program: Program, outputs: Mapping[str, Sequence[Token]]) -> dict[str, Output]:
    """The ``outputs`` of a run of ``program``, in the order in which it has them."""
    tilings = stored(program.graph)
    found = {
        name: Output(name, tilings[name].type, tokens, is_tensor=True)
        if name in tilings
        else Output(name, program.graph.nodes[name].inputs[0].type, tokens)
        for name, tokens in outputs.items()
    }
    return ByName(found, "output")


def _column(values: Sequence[Any], element: ElementType, name: str) -> Any:
    """One entry per value; of tuples an array per item."""
    match element:
        case Tile(dtype=dtype):
            sizes = {each.shape for each in values}
            if len(sizes) > 1:
                raise ValueError(f"output {name!r} is no array: its tiles differ in size; nested() gives lists")
            known = [int(each) if each.is_static else 0 for each in (element.rows, element.cols)]
            (size,) = sizes or {tuple(known)}
            return np.array(values, dtype.numpy).reshape(len(values), *size)
        case Selector():
            return element.multi_hot(values)
        case Tuple(items=items):
            return tuple(_column([each[at] for each in values], item, name) for at, item in enumerate(items))
    raise ValueError(f"output {name!r} has elements of {element}, which no array can have; nested() gives lists")


def _shaped(values: Any, dims: tuple[int, ...]) -> Any:
    if isinstance(values, tuple):
        return tuple(_shaped(each, dims) for each in values)
    return values.reshape(*dims, *values.shape[1:])


COLOURS = {"busy": GREEN, "starved": SKY, "blocked": ORANGE, "finished": "#d9d9d9"}
"""Colours of activities in tables and pages, told apart with any colour vision."""
ACTIVITIES = tuple(COLOURS)


def activities(result: RunResult, caption: str) -> str:
    """A table, in HTML, of what the operators of a timed run did."""
    rows = []
    for name, each in result.operators.items():
        spent = {activity: getattr(each, activity) for activity in ACTIVITIES}
        shares = {activity: cycles / result.cycles for activity, cycles in spent.items()}
        rows.append((name, *spent.values(), bar(shares, COLOURS)))
    return table(("operator", *ACTIVITIES, "share of the cycles"), rows, caption)
