"""A region: one set of matmuls that several SwiGLU experts share, by turns.

It takes the tiles of one of its experts after those of another, in the order in which they come; which one it is
decides where its weights lie, and to whom the results go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from step import BF16, Graph, Stream
from step.functions import ExpertTiles
from step_models.swiglu import feed_forward

if TYPE_CHECKING:
    from step_models.mixture import Mixture


def region(of: Mixture, graph: Graph, tiles: Sequence[Stream], prefix: str) -> list[Stream]:
    """Experts of a mixture on the ``tiles`` [n] of each of them, by turns; gives the tiles [n] of each.

    The weights of all of them are one tensor for each of gate, up and down (see `tensors`), in tiles of [columns,
    depth]. Gate and up lie transposed, so that all three are used in the order in which their tiles lie.
    """
    # A chunk is all tiles of an expert, however many these are; without rows there is none.
    chunks = []
    for number, each in enumerate(tiles):
        chunk = each.promote(name=f"{prefix}chunk{number}")
        length = graph.symbol(f"{prefix}tiles{number}", ragged=True)
        chunks.append(chunk.assume_shape([chunk.shape[0], length]))
    merged, which = graph.eager_merge(chunks, rank=1, name=f"{prefix}turns")

    # For every tile, the addresses of the weights of its expert: [chunks, tiles, blocks, steps].
    blocks, steps = of.inner // of.columns, of.hidden // of.depth
    expert = which.reshape(1, name=f"{prefix}alone")[0].expand(merged, name=f"{prefix}expert")
    listed = expert.flat_map(ExpertTiles(len(tiles), blocks * steps), name=f"{prefix}addresses")
    addresses = listed.assume_shape([*merged.shape, blocks * steps]).reshape(steps, name=f"{prefix}blocks")[0]
    weights = []
    for name in ("gate", "up", "down"):
        tensor = graph.tensor(f"{prefix}{name}", (len(tiles) * of.inner, of.hidden), BF16)
        weights.append(addresses.load_random(tensor, tile=(of.columns, of.depth), name=f"{prefix}load_{name}"))
    y = feed_forward(merged, weights, transposed=True, sum=of.sum, prefix=prefix)

    back = y.partition(which, targets=len(tiles), rank=1, name=f"{prefix}back")
    return [
        each.flatten(0, 1, name=f"{prefix}back{number}").assume_shape(given.shape)
        for number, (each, given) in enumerate(zip(back, tiles, strict=True))
    ]


def tensors(weights: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The tensors of a region: the weights of one expert below those of another, gate and up transposed."""
    return {
        name: np.concatenate([each[name] if name == "down" else each[name].T for each in weights])
        for name in ("gate", "up", "down")
    }
