"""Functions that make addresses of tiles: of the weights of an expert, and of the rows that a request has in a cache.

An address is a tile of one UINT32, the number of a tile. Operands that are out of range are a fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Annotated, cast

import numpy as np

from step.errors import TypeMismatch
from step.language.dims import Shape, dim
from step.language.dtypes import UINT32
from step.language.faults import Fault, Violation
from step.language.function import NUMBER, CountedFunction, Function, MapFunction, Sample, below, mismatch
from step.language.parameters import Count, Within
from step.language.types import ElementType, Selector, Tile


def _address(value: int) -> np.ndarray:
    return np.array([[value]], UINT32.numpy)


def _check_addresses(function: ExpertTiles | _OfRequest, tiles: int) -> None:
    """Raise `TypeMismatch` unless ``tiles`` have addresses."""
    if function.base + tiles > 2**32:
        raise TypeMismatch(f"{function.name} needs addresses below 2^32, not up to {function.base + tiles - 1}")


@dataclass(frozen=True)
class ExpertTiles(CountedFunction):
    """Addresses of the tiles of an expert, ``base + expert * tiles`` and the next ``tiles - 1``: a function of FlatMap.

    The operand is an expert: a number below ``experts``, a tile of one UINT32; or a selector of so many targets with
    one of them set. No FLOPs. Another expert is a fault.

    ``experts``: number of experts.
    ``tiles``: tiles of each expert.
    ``base``: address of the first tile of expert 0.

    >>> graph = Graph()
    >>> graph.source("expert", Tile(UINT32), [2]).flat_map(ExpertTiles(experts=4, tiles=2)).sink("y")
    >>> step.run(graph, "interpret", inputs={"expert": [3, 1]}).outputs["y"].numpy().ravel().tolist()
    [6, 7, 2, 3]
    """

    experts: Count
    tiles: Count
    base: Annotated[int, Within(0)] = 0

    indices = (0,)
    fault = Fault.OUT_OF_RANGE

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        experts = element.targets if isinstance(element, Selector) else random.randint(1, 4)
        function = cls(experts, random.randint(1, 3), random.randint(0, 99))
        if isinstance(element, Selector):
            return Sample(function, (element,), {0: lambda random: 1 << random.randrange(experts)})
        return Sample(function, (NUMBER,), {0: below(experts)})

    def out_of_range(self) -> str:
        return f"this is not exactly one of the experts 0 to {self.experts - 1}"

    def result_type(self, *inputs: ElementType) -> Tile:
        _check_addresses(self, self.experts * self.tiles)
        if inputs not in ((NUMBER,), (Selector(self.experts),)):
            raise mismatch(self, f"an expert, a {NUMBER} or a {Selector(self.experts)}", inputs)
        return NUMBER

    def result_shape(self, *inputs: ElementType) -> Shape:
        return dim(1), dim(self.tiles)

    def _expert(self, value: int | np.ndarray) -> int:
        """Number of the expert; raises `Violation` where there is no such one."""
        expert = value.bit_length() - 1 if isinstance(value, int) else int(value.item())
        if (isinstance(value, int) and value.bit_count() != 1) or expert >= self.experts:
            raise Violation(Fault.OUT_OF_RANGE)
        return expert

    def pieces(self, value: int | np.ndarray) -> int:
        self._expert(value)
        return self.tiles

    def piece(self, index: int, value: int | np.ndarray) -> np.ndarray:
        return _address(self.base + self._expert(value) * self.tiles + index)


@dataclass(frozen=True)
class _OfRequest(Function):
    """A function of a request and of its length in rows; a tile has ``rows`` of these, and a request ``tiles``."""

    requests: Count
    tiles: Count
    rows: Count
    base: Annotated[int, Within(0)] = 0

    indices = (0, 1)

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        requests, tiles, rows = random.randint(1, 3), random.randint(1, 3), random.choice([1, 2, 3, 4])
        function = cls(requests, tiles, rows, random.randint(0, 99))
        return Sample(function, (NUMBER, NUMBER), {0: below(requests), 1: below(tiles * rows)})

    def _check(self, inputs: tuple[ElementType, ...]) -> None:
        _check_addresses(self, self.requests * self.tiles)
        if inputs != (NUMBER, NUMBER):
            raise mismatch(self, f"a request and its length in rows, two of {NUMBER}", inputs)


class CacheTiles(_OfRequest, CountedFunction):
    """Addresses of all tiles of a request that have valid rows: a function of FlatMap of ``(request, length)``.

    Operands are two tiles of one UINT32, the number of the request and its length in rows. Addresses are ``base +
    request * tiles + 0 .. ceil(length / rows) - 1``; without any row it is an empty row of addresses. No FLOPs. A
    request or a length that there is no room for is a fault.

    ``requests``: requests that have room in the cache.
    ``tiles``: tiles of a request.
    ``rows``: rows of a tile.
    ``base``: address of the first tile of request 0.

    >>> graph = Graph()
    >>> request, length = (graph.source(name, Tile(UINT32), [2]) for name in ("request", "length"))
    >>> request.flat_map(CacheTiles(requests=2, tiles=4, rows=16), length).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"request": [0, 1], "length": [40, 16]})
    >>> run.outputs["y"].ragged().values.ravel().tolist()
    [0, 1, 2, 4]
    """

    fault = Fault.OUT_OF_RANGE

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        sample = super().sample(random, element, reduce=reduce)
        function = cast(CacheTiles, sample.function)
        return sample._replace(values={**sample.values, 1: below(function.tiles * function.rows + 1)})

    def out_of_range(self) -> str:
        most = self.tiles * self.rows
        return f"a request has to be one of 0 to {self.requests - 1}, and to have {most} rows of the cache at most"

    def result_type(self, *inputs: ElementType) -> Tile:
        self._check(inputs)
        return NUMBER

    def pieces(self, request: np.ndarray, length: np.ndarray) -> int:
        if request.item() >= self.requests or length.item() > self.tiles * self.rows:
            raise Violation(Fault.OUT_OF_RANGE)
        return -(-int(length.item()) // self.rows)

    def piece(self, index: int, request: np.ndarray, length: np.ndarray) -> np.ndarray:
        return _address(self.base + int(request.item()) * self.tiles + index)


@dataclass(frozen=True)
class CacheRows(CountedFunction):
    """Number of valid rows of each tile of a request: ``rows`` in all but the last one. A function of FlatMap.

    The operand is a length in rows, a tile of one UINT32. It goes with `CacheTiles`, and is what `FilterLastTile` wants
    to know. No FLOPs.

    ``rows``: rows of a tile; an integer >= 1, else `TypeMismatch`.

    >>> graph = Graph()
    >>> graph.source("length", Tile(UINT32), [2]).flat_map(CacheRows(rows=16)).sink("y")
    >>> step.run(graph, "interpret", inputs={"length": [40, 16]}).outputs["y"].ragged().values.ravel().tolist()
    [16, 16, 8, 16]
    """

    rows: Count

    @classmethod
    def sample(cls, random: Random, element: ElementType, *, reduce: bool) -> Sample:
        rows = random.randint(1, 4)
        return Sample(cls(rows), (NUMBER,), {0: below(3 * rows + 1)})

    def result_type(self, *inputs: ElementType) -> Tile:
        if inputs != (NUMBER,):
            raise mismatch(self, f"a length in rows, a {NUMBER}", inputs)
        return NUMBER

    def pieces(self, length: np.ndarray) -> int:
        return -(-int(length.item()) // self.rows)

    def piece(self, index: int, length: np.ndarray) -> np.ndarray:
        return _address(min(self.rows, int(length.item()) - index * self.rows))


class CacheEnd(_OfRequest, MapFunction):
    """Address of the tile into which the next row of a request goes: a function of ``(request, length)``.

    Operands are two tiles of one UINT32, and parameters those of `CacheTiles`; ``rows`` is a power of two, else
    `TypeMismatch`. The address is ``base + request * tiles + floor(length / rows)``; `AppendRow` makes the tile with
    the new row. No FLOPs. A request or a length that there is no room for is a fault.

    >>> graph = Graph()
    >>> request, length = (graph.source(name, Tile(UINT32), [2]) for name in ("request", "length"))
    >>> request.map(CacheEnd(requests=2, tiles=4, rows=16), length).sink("y")
    >>> run = step.run(graph, "interpret", inputs={"request": [0, 1], "length": [40, 16]})
    >>> run.outputs["y"].numpy().ravel().tolist()
    [2, 5]
    """

    def out_of_range(self) -> str:
        most = self.tiles * self.rows
        return f"a request has to be one of 0 to {self.requests - 1}, and to have less than {most} rows of the cache"

    def bound(self, port: int, *inputs: ElementType) -> int:
        return self.tiles * self.rows if port else self.requests

    def result_type(self, *inputs: ElementType) -> Tile:
        self._check(inputs)
        if self.rows & (self.rows - 1):
            raise TypeMismatch(f"cache_end needs rows to be a power of two, not {self.rows}")
        return NUMBER

    def apply(self, request: np.ndarray, length: np.ndarray) -> np.ndarray:
        return _address(self.base + int(request.item()) * self.tiles + int(length.item()) // self.rows)
