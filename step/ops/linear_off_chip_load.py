"""LinearOffChipLoad: affine reads of an off-chip tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from step.errors import TypeMismatch
from step.language.affine import check_walk
from step.language.dims import dim, shape
from step.language.draft import HIGHEST_RANK, Draft
from step.language.graph import Graph, Tensor, graph_method
from step.language.loops import Walk
from step.language.operator import Access, Names, Placed, StreamType, expect
from step.language.stream import Stream
from step.language.tiling import _TiledAccess, rows_and_columns


@dataclass(frozen=True)
class LinearOffChipLoad(_TiledAccess):
    """Reads ``tensor`` in tiles: tile index = offset + sum(i_d * stride_d) over the tiled tensor, row-major.

    Without a reference the read happens once and the output is ``[1, *out]``; with one it is repeated per element of
    the reference, ``[*ref, *out]``, whatever that element is. Strides and extents are in tiles, outermost first; stride
    0 repeats. The last tile of a read carries a stop of level len(out), raised by what follows the reference's element.

    >>> graph = Graph("linear_off_chip_load")
    >>> weight = graph.tensor("weight", (8, 8), BF16)
    >>> graph.load(weight, tile=(4, 4)).sink("tiles")
    """

    out: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    data = ()  # the reference only says when to read

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(len(inputs) <= 1, f"a linear load takes at most one reference, not {len(inputs)} streams")
        self.tiling.check()
        tiles = self.tiling.count
        check_walk(self.indices, tiles, f"tensor {self.tensor.name!r} has tiles 0 to {tiles - 1}")
        return (StreamType(self.tiling.element, (*(inputs[0].shape if inputs else (dim(1),)), *shape(self.out))),)

    @property
    def indices(self) -> Walk:
        """Addresses of the tiles of one read."""
        return Walk(self.out, self.stride, self.offset)

    def reads(self, node: Placed) -> Access:
        return Access(self.tiling.element, self.tiling.count, tensor=self.tensor.name)


@graph_method
def load(
    graph: Graph,
    tensor: Tensor,
    *,
    tile: Sequence[int],
    out: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    offset: int = 0,
    reference: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """Read ``tensor`` in tiles of ``tile`` (rows, cols), once or per element of ``reference``.

    ``out`` defaults to the whole tiled tensor and ``stride`` to row-major order.
    """
    if not isinstance(tensor, Tensor) or graph.tensors.get(tensor.name) is not tensor:
        raise TypeMismatch(f"load needs a tensor of the graph, not {tensor!r}")
    rows, cols = rows_and_columns(tile)
    *outer, height, width = tensor.shape
    extents = tuple(out) if out is not None else (*outer, height // rows, width // cols)
    if stride is None:
        stride = [prod(extents[place + 1 :]) for place in range(len(extents))]
    operator = LinearOffChipLoad(tensor, (rows, cols), extents, tuple(stride), offset)
    return graph.add(operator, [] if reference is None else [reference], name=name)[0]


def sample(draft: Draft) -> None:
    """A walk over a tensor, once or for every element of a reference."""
    random, reference = draft.random, None
    out = [random.randint(1, 3) for _ in range(random.randint(1, 2))]
    if not draft.chance(0.2):
        reference = draft.pick(lambda each: each.rank + len(out) <= HIGHEST_RANK, factor=prod(out))
    tile, grid = draft.tile(), [random.randint(1, 3) for _ in range(random.choice([2, 2, 3]))]
    rows, cols = tile.shape
    tensor = draft.tensor([*grid[:-2], grid[-2] * rows, grid[-1] * cols], tile)
    stride = [random.choice([1, 1, 2, 3, 0, -1, -2]) for _ in out]
    first, last = Walk(tuple(out), tuple(stride)).bounds
    if last - first >= prod(grid):
        stride, first, last = [0 for _ in out], 0, 0
    offset, read = random.randint(-first, prod(grid) - 1 - last), None if reference is None else draft.read(reference)
    stream = draft.graph.load(tensor, tile=tile.shape, out=out, stride=stride, offset=offset, reference=read)
    draft.keep(stream, timed=reference is not None and reference.timed)
