"""The mixture of experts of moe_mixtral.py, on fewer sets of matmuls than experts: these take turns.

The experts are dealt to regions. A region takes the tiles of one of its experts after those of another, in the order in
which they come; which one it is decides where its weights lie, and to whom the results go back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from moe_mixtral import EXPERTS, TRACE, mixture, packed, read_trace, unpacked, with_data
from swiglu import feed_forward

from step import BF16, Graph, Program, Stream
from step.errors import ProgramError
from step.functions import ExpertTiles


def region(graph: Graph, tiles: Sequence[Stream], hidden: int, inner: int, step: int, prefix: str) -> list[Stream]:
    """Experts on the ``tiles`` [n] of each of them, by turns; gives the tiles [n] of each.

    The weights of all of them are one tensor for each of gate, up and down, those of one expert below those of another.
    Gate and up lie transposed, so that all three are used in the order in which their tiles lie.
    """
    # A chunk is all tiles of an expert, however many these are; without rows there is none.
    chunks = []
    for number, each in enumerate(tiles):
        chunk = each.promote(name=f"{prefix}chunk{number}")
        length = graph.symbol(f"{prefix}tiles{number}", ragged=True)
        chunks.append(chunk.assume_shape([chunk.shape[0], length]))
    merged, which = graph.eager_merge(chunks, rank=1, name=f"{prefix}turns")

    # For every tile, the addresses of the weights of its expert: [chunks, tiles, blocks, steps].
    blocks, steps = inner // step, hidden // step
    expert = which.reshape(1, name=f"{prefix}alone")[0].expand(merged, name=f"{prefix}expert")
    listed = expert.flat_map(ExpertTiles(len(tiles), blocks * steps), name=f"{prefix}addresses")
    addresses = listed.assume_shape([*merged.shape, blocks * steps]).reshape(steps, name=f"{prefix}blocks")[0]
    gate, up, down = (
        addresses.load_random(
            graph.tensor(f"{prefix}{name}", (len(tiles) * inner, hidden), BF16),
            tile=(step, step),
            name=f"{prefix}load_{name}",
        )
        for name in ("gate", "up", "down")
    )
    y = feed_forward(merged, gate, up, down, transposed=True, prefix=prefix)

    back = y.partition(which, targets=len(tiles), rank=1, name=f"{prefix}back")
    return [
        each.flatten(0, 1, name=f"{prefix}back{number}").assume_shape(given.shape)
        for number, (each, given) in enumerate(zip(back, tiles, strict=True))
    ]


def build(
    trace: np.ndarray, regions: int, *, hidden: int = 64, inner: int = 64, tile_rows: int = 4, step: int = 16
) -> Program:
    """The program for ``trace`` [tokens, k], with dimensions that are multiples of ``step``, on so many regions.

    ``tile_rows * hidden`` may be at most the fabric's T x T. Raises `ProgramError` where the regions can not have
    equally many experts.
    """
    if regions < 1 or EXPERTS % regions:
        raise ProgramError(
            f"{EXPERTS} experts can not be dealt evenly to {regions} regions; 1, 2, 4 and 8 regions are possible"
        )
    graph = Graph(f"moe_multiplexed_regions{regions}")
    shared = EXPERTS // regions
    dealt = [slice(first, first + shared) for first in range(0, EXPERTS, shared)]
    room = len(trace) + 1  # Done takes a slot, too

    def experts(routed: Sequence[Stream]) -> list[Stream]:
        # While a region is busy with one expert the rows of its others wait: without room for all of them they would
        # keep back the rows behind them, and so the rest of the chunk that the region is at.
        prefixes = [f"expert{number}_" for number in range(EXPERTS)]
        pairs = [packed(rows.buffered(room), tile_rows, prefix) for rows, prefix in zip(routed, prefixes, strict=True)]
        tiles, flags = zip(*pairs, strict=True)
        results = [
            result
            for number, own in enumerate(dealt)
            for result in region(graph, tiles[own], hidden, inner, step, f"region{number}_")
        ]
        # The flags of several tiles wait while these are in the region's pipeline.
        return [
            unpacked(y, keep.buffered(8 * tile_rows), rows, prefix)
            for y, keep, rows, prefix in zip(results, flags, routed, prefixes, strict=True)
        ]

    def tensors(weights: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        return {
            f"region{number}_{name}": np.concatenate(
                [each[name] if name == "down" else each[name].T for each in weights[own]]
            )
            for number, own in enumerate(dealt)
            for name in ("gate", "up", "down")
        }

    mixture(graph, trace, hidden, experts)
    return with_data(graph, trace, hidden, inner, tensors)


def regions4() -> Program:
    """Two experts a region."""
    return build(read_trace(TRACE, EXPERTS), 4)


def regions2() -> Program:
    """Four experts a region."""
    return build(read_trace(TRACE, EXPERTS), 2)


def program() -> Program:
    """Four regions."""
    return regions4()
