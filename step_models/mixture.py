"""A mixture of SwiGLU experts as a part of programs: static tiles, tiles of dynamic size, and experts that take turns.

Tokens are routed row by row. Every expert packs its rows into tiles, reads its weights once per tile, and returns rows,
which are weighted, gathered in token order and summed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from step import BF16, Graph, Stream
from step.errors import InputError
from step.functions import Add, Column, Mul, TopK
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step.library import top_k_weights
from step_models import multiplexed
from step_models.checking import require
from step_models.packing import joined, packed, separate, unpacked
from step_models.routing import MOST
from step_models.swiglu import check_tiles, expert


@dataclass(frozen=True)
class Routes:
    """Routes of tokens: ``choice`` [tokens], selectors of the experts of each, and the weights with which these count.

    ``shares``: a stream for each expert, of tiles [1, 1] of BF16, as many as rows go there.
    """

    choice: Stream
    shares: Sequence[Stream]


@dataclass(frozen=True)
class Mixture(metaclass=Checked):
    """``experts`` SwiGLU experts, [hidden, inner] each, as a part of programs.

    ``rows``: of a tile, the last one of an expert being padded; None is one tile of all rows of the expert, however
    many these are. Weights come in tiles [depth, columns]. ``regions``: None gives every expert matmuls of its own;
    a number deals the experts to so many regions, whose experts take turns. ``prefix`` begins all names. ``sum`` is
    that of the products.

    Raises `InputError` for tiles that do not divide, and regions that can not have equally many experts.
    """

    experts: int
    hidden: int
    inner: int
    rows: int | None
    depth: int
    columns: int
    regions: int | None = None
    prefix: str = ""
    sum: Sum = "ordered"

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        settle_parameters(self)
        check_tiles(self.hidden, self.inner, self.depth, self.columns)
        check_dealt(self.experts, self.rows, self.regions)
        if self.regions is not None and self.rows is None and self.depth != self.hidden:
            # Tiles of several experts have other numbers of rows, and only those of equal ones can be put side by side.
            raise InputError(
                "experts that take turns on tiles of dynamic size need weight tiles with all of hidden: "
                f"depth must be {self.hidden}, not {self.depth}"
            )

    def apply(self, graph: Graph, x: Stream, experts_per_token: int) -> Stream:
        """The mixture of rows ``x``, [tokens] of BF16 tiles [1, hidden] -> [tokens] of FP32 tiles [1, hidden].

        Where a token goes say the inputs that `routed` makes; the weights are the tensors of `tensors`.
        """
        return self.mix(graph, x, self.given(graph, int(x.shape[0]), experts_per_token))

    def given(self, graph: Graph, tokens: int, experts_per_token: int) -> Routes:
        """Routes that are inputs; `routed` makes them."""
        prefix = self.prefix
        routing = graph.selectors(f"{prefix}routing", self.experts, [tokens])
        choice = graph.selectors(f"{prefix}choice", self.experts, [tokens * experts_per_token])
        score = graph.load(
            graph.tensor(f"{prefix}score", (tokens, experts_per_token), BF16), tile=(1, 1), name=f"{prefix}load_score"
        )
        scores = score.flatten(0, 2, name=f"{prefix}scores").partition(
            choice, targets=self.experts, name=f"{prefix}route_scores"
        )
        return Routes(routing, scores)

    def chosen(self, scores: Stream, experts_per_token: int) -> Routes:
        """Routes to the largest of ``scores`` [tokens], rows [1, experts] that are not negative; a router makes them.

        Those of a token count with their parts of the sum of them. Of equal scores the first ones are taken.
        """
        prefix = self.prefix
        choice = scores.map(TopK(experts_per_token), name=f"{prefix}routing")
        shares = top_k_weights(scores, experts_per_token, out=BF16, name=f"{prefix}scores")
        parts = shares.partition(choice, targets=self.experts, name=f"{prefix}route_scores")
        return Routes(
            choice, [each.map(Column(number), name=f"{self._prefix(number)}score") for number, each in enumerate(parts)]
        )

    def mix(self, graph: Graph, x: Stream, routes: Routes) -> Stream:
        """The same with ``routes`` of whatever origin; the results of a token are added up as they come."""
        tokens, prefix = int(x.shape[0]), self.prefix
        rows = x.partition(routes.choice, targets=self.experts, name=f"{prefix}route")

        # An expert waits until it has a tile of rows, and tokens leave in order: meanwhile all others must find room.
        room = tokens + 1  # Done takes a slot, too
        weighted = []
        for number, (y, row_scores) in enumerate(zip(self._experts(graph, rows, room), routes.shares, strict=True)):
            matching = row_scores.assume_shape(y.shape).buffered(room)
            weighted.append(y.map(Mul(), matching, name=f"{prefix}expert{number}_weighted").buffered(room))
        gathered = graph.reassemble(weighted, routes.choice.buffered(room), name=f"{prefix}gather")
        return gathered.accum(Add(), name=f"{prefix}sum")

    def routed(self, routing: np.ndarray, score: np.ndarray) -> dict[str, np.ndarray]:
        """Inputs for tokens whose experts are ``routing`` [tokens, k], which count with weights ``score``."""
        multi_hot = (routing[..., None] == np.arange(self.experts)).any(-2)
        return {
            f"{self.prefix}routing": multi_hot,
            f"{self.prefix}choice": routing.reshape(-1),
            f"{self.prefix}score": score,
        }

    def tensors(self, weights: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The data of the weight tensors, of the gate, up and down of every expert."""
        kind, tensors = "expert", list(weights)
        if self.regions is not None:
            kind, tensors = "region", [multiplexed.tensors(weights[own]) for own in self._dealt()]
        return {f"{self.prefix}{kind}{at}_{name}": each for at, own in enumerate(tensors) for name, each in own.items()}

    def _experts(self, graph: Graph, rows: Sequence[Stream], room: int) -> list[Stream]:
        """The experts, each on its rows [n] -> [n]; those of a region by turns."""
        if self.regions is None:
            return [self._alone(graph, each, self._prefix(number)) for number, each in enumerate(rows)]
        # While a region is busy with one expert the rows of its others wait: without room for all of them they would
        # keep back the rows behind them, and so the rest of the chunk that the region is at.
        pairs = [self._in_tiles(each.buffered(room), self._prefix(number)) for number, each in enumerate(rows)]
        tiles, backs = zip(*pairs, strict=True)
        results = [
            each
            for number, own in enumerate(self._dealt())
            for each in multiplexed.region(self, graph, tiles[own], f"{self.prefix}region{number}_")
        ]
        return [back(each) for each, back in zip(results, backs, strict=True)]

    def _alone(self, graph: Graph, rows: Stream, prefix: str) -> Stream:
        tiles, back = self._in_tiles(rows, prefix)
        size = {"depth": self.depth, "columns": self.columns}
        return back(expert(graph, tiles, self.hidden, self.inner, **size, sum=self.sum, prefix=prefix))

    def _in_tiles(self, rows: Stream, prefix: str) -> tuple[Stream, Callable[[Stream], Stream]]:
        """Rows [n] in tiles, and what makes rows [n] of tiles again."""
        if self.rows is None:
            return joined(rows, prefix), lambda tile: separate(tile, rows, prefix)
        tiles, keep = packed(rows, self.rows, prefix)
        # The flags of several tiles wait while these are in the pipeline of the expert, or of its region.
        flags = keep.buffered(8 * self.rows)
        return tiles, lambda results: unpacked(results, flags, rows, prefix)

    def _dealt(self) -> list[slice]:
        """The experts of every region."""
        assert self.regions is not None
        shared = self.experts // self.regions
        return [slice(first, first + shared) for first in range(0, self.experts, shared)]

    def _prefix(self, number: int) -> str:
        return f"{self.prefix}expert{number}_"


def check_dealt(experts: int, rows: int | None, regions: int | None) -> None:
    """Raise `InputError` for tiles without rows, and regions that can not have equally many experts."""
    require(1 <= experts <= MOST, f"there must be 1 to {MOST:,} experts, not {experts:,}")
    require(rows is None or rows >= 1, f"a tile must have at least one row, not {rows}")
    if regions is not None and (regions < 1 or experts % regions):
        possible = ", ".join(str(each) for each in range(1, experts + 1) if experts % each == 0)
        raise InputError(f"{experts} experts can not be dealt evenly to {regions} regions; possible are {possible}")
