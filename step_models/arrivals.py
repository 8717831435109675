"""Requests that come over time: a stream that is held back, for as many cycles as input data says."""

from __future__ import annotations

import numpy as np

from step import UINT32, Graph, Stream, Tile
from step.errors import InputError
from step.functions import CacheRows, Max


def paced(graph: Graph, requests: Stream, name: str = "gap") -> Stream:
    """``requests`` [n], each of them so many cycles behind the one before it as an input ``name`` [n] says, at least 1.

    A clock counts these cycles, a tile in each, and does so whether or not anybody takes the requests.
    """
    (count,) = requests.shape
    gap = graph.source(name, Tile(UINT32), [count])
    ticks = gap.flat_map(CacheRows(1), name=f"{name}_ticks")
    clock = ticks.accum(Max(), name=f"{name}_clock").buffered(int(count) + 1)
    return clock.zip(requests, name=f"{name}_arrived").item_of(1, name=f"{name}_request")


def check_gaps(gaps: np.ndarray, requests: int) -> np.ndarray:
    """``gaps`` itself; `InputError` unless they are integers >= 0, one for each of so many requests."""
    gaps = np.asarray(gaps)
    if gaps.shape != (requests,) or gaps.dtype.kind not in "iu" or (requests and gaps.min() < 0):
        raise InputError(
            f"gaps must be integers >= 0, one for each of {requests} requests, not {gaps.dtype} {list(gaps.shape)}"
            + (f" from {gaps.min()} on" if gaps.size and gaps.dtype.kind in "iu" else "")
        )
    return gaps
