"""A mixture of SwiGLU experts: static tiles, tiles of dynamic size, and experts that take turns on shared regions.

Tokens are routed row by row. Every expert packs its rows into tiles, reads its weights once per tile, and returns rows,
which are weighted, gathered in token order and summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from step import BF16, FabricConfig, Graph, Program, Stream
from step.errors import InputError
from step.functions import Add, Mul, RetileRow, RetileStreamify, SelectValid
from step.language.arguments import Checked
from step.language.fused import Sum
from step.language.parameters import settle_parameters
from step_models import multiplexed
from step_models.checking import workload
from step_models.fabrics import fitting
from step_models.routing import MOST, check_routing
from step_models.swiglu import Weights, check_tiles, expert, random_weights, reference
from step_models.weights import blank_tensors, normal


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
        _check_dealt(self.experts, self.rows, self.regions)
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
        tokens, prefix = int(x.shape[0]), self.prefix
        routing = graph.selectors(f"{prefix}routing", self.experts, [tokens])
        choice = graph.selectors(f"{prefix}choice", self.experts, [tokens * experts_per_token])
        score = graph.load(
            graph.tensor(f"{prefix}score", (tokens, experts_per_token), BF16), tile=(1, 1), name=f"{prefix}load_score"
        )
        scores = score.flatten(0, 2, name=f"{prefix}scores").partition(
            choice, targets=self.experts, name=f"{prefix}route_scores"
        )
        rows = x.partition(routing, targets=self.experts, name=f"{prefix}route")

        # An expert waits until it has a tile of rows, and tokens leave in order: meanwhile all others must find room.
        room = tokens + 1  # Done takes a slot, too
        weighted = []
        for number, (y, row_scores) in enumerate(zip(self._experts(graph, rows, room), scores, strict=True)):
            matching = row_scores.assume_shape(y.shape).buffered(room)
            weighted.append(y.map(Mul(), matching, name=f"{prefix}expert{number}_weighted").buffered(room))
        gathered = graph.reassemble(weighted, routing.buffered(room), name=f"{prefix}gather")
        summed: Stream = gathered.accum(Add(), name=f"{prefix}sum")
        return summed

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
        if self.regions is not None:
            return {
                f"{self.prefix}region{number}_{name}": each
                for number, own in enumerate(self._dealt())
                for name, each in multiplexed.tensors(weights[own]).items()
            }
        return {
            f"{self._prefix(number)}{name}": each
            for number, of_expert in enumerate(weights)
            for name, each in of_expert.items()
        }

    def _experts(self, graph: Graph, rows: Sequence[Stream], room: int) -> list[Stream]:
        if self.regions is not None:
            return self._shared(graph, rows, room)
        make = self._dynamic if self.rows is None else self._padded
        return [make(graph, each, number) for number, each in enumerate(rows)]

    def _padded(self, graph: Graph, rows: Stream, number: int) -> Stream:
        """An expert on tiles of which the last one is padded; [n] rows -> [n] rows."""
        assert self.rows is not None
        prefix = self._prefix(number)
        tiles, keep = packed(rows, self.rows, prefix)
        y = self._alone(graph, tiles, prefix)
        # The flags of several tiles wait while these are in the expert's pipeline.
        return unpacked(y, keep.buffered(8 * self.rows), rows, prefix)

    def _dynamic(self, graph: Graph, rows: Stream, number: int) -> Stream:
        """An expert on one tile of as many rows as there are; [n] rows -> [n] rows."""
        prefix = self._prefix(number)
        return separate(self._alone(graph, joined(rows, prefix), prefix), rows, prefix)

    def _alone(self, graph: Graph, tiles: Stream, prefix: str) -> Stream:
        weights = Weights.declare(graph, prefix, self.hidden, self.inner)
        return expert(graph, tiles, weights, depth=self.depth, columns=self.columns, sum=self.sum, prefix=prefix)

    def _shared(self, graph: Graph, rows: Sequence[Stream], room: int) -> list[Stream]:
        """Experts on tiles, those of a region by turns; [n] rows -> [n] rows of each."""
        # While a region is busy with one expert the rows of its others wait: without room for all of them they would
        # keep back the rows behind them, and so the rest of the chunk that the region is at.
        prefixes = [self._prefix(number) for number in range(self.experts)]
        waiting = [each.buffered(room) for each in rows]
        if self.rows is None:
            whole = [joined(each, prefix) for each, prefix in zip(waiting, prefixes, strict=True)]
            results = self._by_turns(graph, whole)
            return [separate(*each) for each in zip(results, rows, prefixes, strict=True)]
        pairs = [packed(each, self.rows, prefix) for each, prefix in zip(waiting, prefixes, strict=True)]
        tiles, flags = zip(*pairs, strict=True)
        # The flags of several tiles wait while these are in the region's pipeline.
        return [
            unpacked(y, keep.buffered(8 * self.rows), each, prefix)
            for y, keep, each, prefix in zip(self._by_turns(graph, tiles), flags, rows, prefixes, strict=True)
        ]

    def _by_turns(self, graph: Graph, tiles: Sequence[Stream]) -> list[Stream]:
        """The tiles of every expert through its region."""
        return [
            result
            for number, own in enumerate(self._dealt())
            for result in multiplexed.region(
                graph,
                tiles[own],
                hidden=self.hidden,
                inner=self.inner,
                depth=self.depth,
                columns=self.columns,
                sum=self.sum,
                prefix=f"{self.prefix}region{number}_",
            )
        ]

    def _dealt(self) -> list[slice]:
        """The experts of every region."""
        assert self.regions is not None
        shared = self.experts // self.regions
        return [slice(first, first + shared) for first in range(0, self.experts, shared)]

    def _prefix(self, number: int) -> str:
        return f"{self.prefix}expert{number}_"


def _check_dealt(experts: int, rows: int | None, regions: int | None) -> None:
    """Raise `InputError` for tiles without rows, and regions that can not have equally many experts."""
    if not 1 <= experts <= MOST:
        raise InputError(f"there must be 1 to {MOST:,} experts, not {experts:,}")
    if rows is not None and rows < 1:
        raise InputError(f"a tile must have at least one row, not {rows}")
    if regions is not None and (regions < 1 or experts % regions):
        possible = ", ".join(str(each) for each in range(1, experts + 1) if experts % each == 0)
        raise InputError(f"{experts} experts can not be dealt evenly to {regions} regions; possible are {possible}")


def joined(rows: Stream, prefix: str) -> Stream:
    """All rows [n] in one tile, or none."""
    tile: Stream = rows.promote(name=f"{prefix}promoted").accum(RetileRow(), name=f"{prefix}tile")
    return tile


def separate(tile: Stream, rows: Stream, prefix: str) -> Stream:
    """The rows [n] of the one tile."""
    split: Stream = tile.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows").assume_shape(rows.shape)
    return split


def packed(rows: Stream, tile_rows: int, prefix: str) -> tuple[Stream, Stream]:
    """Rows [n] in tiles of ``tile_rows`` rows, the last one padded; and which of their rows are no padding."""
    chunks, padding = rows.reshape(tile_rows, name=f"{prefix}chunks")
    tiles = chunks.accum(RetileRow(), name=f"{prefix}tiles")
    return tiles, padding.flatten(0, 1, name=f"{prefix}flags").map(SelectValid(), name=f"{prefix}keep")


def unpacked(tiles: Stream, keep: Stream, rows: Stream, prefix: str) -> Stream:
    """The rows [n] of tiles, without those that are padding."""
    split = tiles.flat_map(RetileStreamify(1, "row"), name=f"{prefix}rows")
    (kept,) = split.partition(keep, targets=1, name=f"{prefix}kept")
    result: Stream = kept.assume_shape(rows.shape)
    return result


@workload
def program(
    routing: np.ndarray,
    *,
    experts: int,
    hidden: int = 64,
    inner: int = 64,
    rows: int | None = 4,
    depth: int | None = None,
    columns: int = 16,
    regions: int | None = None,
    sum: Sum = "ordered",
    fabric: FabricConfig | None = None,
    values: bool = True,
    name: str = "moe",
) -> Program:
    """The mixture for tokens that go to the experts ``routing`` [tokens, k] says; else as in `Mixture`.

    ``depth``: all of ``hidden`` unless given. Without ``fabric`` it is the smallest one of the published evaluation's
    kind that has room for the tiles. Without ``values`` the weights and activations are zeros, which take no memory,
    and nothing is expected. Raises `InputError` for what does not fit.
    """
    routing = check_routing(routing, experts)
    depth = hidden if depth is None else depth
    mixture = Mixture(experts, hidden, inner, rows, depth, columns, regions, sum=sum)
    graph = Graph(name)
    tokens, chosen = routing.shape
    x = graph.load(graph.tensor("x", (tokens, hidden), BF16), tile=(1, hidden), name="load_x")
    mixture.apply(graph, x.flatten(0, 2, name="rows"), chosen).store("output")
    fabric = fitting(graph, rows=len(routing) if rows is None else 1) if fabric is None else fabric
    if not values:
        inputs = blank_tensors(graph) | mixture.routed(routing, np.zeros(routing.shape))
        return Program(graph, inputs, fabric)

    random = np.random.default_rng(0)
    data = normal(random, tokens, hidden)
    score = random_scores(random, routing)
    weights = [random_weights(random, hidden, inner) for _ in range(experts)]
    expected, bound = mixture_reference(data, routing, score, weights)
    return Program(
        graph,
        {"x": data, **mixture.routed(routing, score), **mixture.tensors(weights)},
        fabric,
        expected={"output": expected},
        tolerance=float(bound.max() / np.abs(expected).max()),
    )


@workload
def symbols(
    routing: np.ndarray, experts: int, prefix: str = "", *, rows: int | None = None, regions: int | None = None
) -> dict[str, int]:
    """What `step.bind` would measure of a mixture's symbols, which at full size takes long, from its routing alone.

    Enough for the metrics of a mixture whose names begin with ``prefix``, and whose experts, in tiles of ``rows``
    rows or one of all rows, share ``regions`` if there are any. Raises `InputError` for what no mixture can have.
    """
    routing = check_routing(routing, experts)
    _check_dealt(experts, rows, regions)
    tokens, counts = len(routing), np.bincount(routing.reshape(-1), minlength=experts)
    known = {f"{prefix}route_D{number}": int(count) for number, count in enumerate(counts)}
    if regions is not None:
        shared = counts.reshape(regions, -1)
        tiles = -(-shared // (rows or tokens))
        for number, (count, together) in enumerate(zip(tiles.sum(1), shared.sum(1), strict=True)):
            known[f"{prefix}region{number}_turns_D0"] = int(count)
            if rows is None and regions < experts:  # tiles of one expert alone have the rows that it says
                known[f"{prefix}region{number}_turns_rows"] = int(together)
    return {**known, f"{prefix}gather_selected": routing.size}


def random_scores(random: np.random.Generator, routing: np.ndarray) -> np.ndarray:
    """Weights of the experts of every token, which add up to one but for rounding to BF16."""
    tokens, chosen = routing.shape
    return random.dirichlet(np.ones(chosen), tokens).astype(BF16.numpy)


def mixture_reference(
    x: np.ndarray, routing: np.ndarray, score: np.ndarray, weights: Sequence[dict[str, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The mixture in float64 on rows ``x``, and a bound on the error of the BF16 program per element."""
    expected, bound = np.zeros(x.shape), np.zeros(x.shape)
    for number, of_expert in enumerate(weights):
        tokens, slots = np.nonzero(routing == number)
        result, error = reference(x[tokens], of_expert)
        factor = score[tokens, slots].astype(np.float64)[:, None]
        expected[tokens] += factor * result
        bound[tokens] += factor * error
    return expected, bound
