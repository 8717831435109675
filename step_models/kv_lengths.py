"""Rows in the KV caches of requests: measured batches, and samples of stated statistics.

Lengths are an array of integers [requests], 0 or more each: rows before the one that is being decoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from step.errors import FormatError, InputError
from step.language.parameters import Within, settled
from step.programs.data.npz import read_array
from step_models.checking import as_array, require, workload
from step_models.configurations import DATA

MOST = 1 << 20
"""Requests of a sample; what is beyond is a slip of the pen."""


@workload
def check_lengths(lengths: np.ndarray, room: int | None = None, *, name: str = "KV lengths") -> np.ndarray:
    """Lengths of KV caches themselves, where they are ones.

    ``lengths``: integers >= 0 ``[requests]``, the rows of each request before the one that is being decoded.
    ``room``: rows of the cache; each request needs a free one.
    ``name``: what an error calls the lengths.

    Raises `InputError` for anything else.

    >>> step_models.check_lengths(np.array([3, 7]), room=8)
    array([3, 7])
    """
    lengths = as_array(lengths, name)
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or not lengths.size:
        raise InputError(
            f"{name} must be integers [requests] for at least one request, not {lengths.dtype} {list(lengths.shape)}"
        )
    require(lengths.min() >= 0, f"{name} must be at least 0, not {lengths.min()}")
    if room is not None and lengths.max() >= room:
        raise InputError(
            f"{name} must be below the {room} rows of the cache, which has to take the new row, too, "
            f"but request {lengths.argmax()} has {lengths.max()}"
        )
    return lengths


@workload
def read_kv_lengths(path: Path | str) -> np.ndarray:
    """Lengths of KV caches in rows from a file, as `check_lengths` describes them.

    ``path``: an .npy file.

    Raises `FormatError` for a file of another form.

    >>> step_models.read_kv_lengths("step_models/data/kv_lengths/b64/conv_stdev0996_4007_4070.npy").max().item()
    4088
    """
    lengths = read_array(path)
    try:
        return check_lengths(lengths, name=f"{path}: KV lengths")
    except InputError as error:
        raise FormatError(str(error)) from None


@workload
def measured_kv_lengths(name: str) -> np.ndarray:
    """Lengths of KV caches in rows of a measured batch that comes with the package.

    ``name``: folder and name in ``step_models/data/kv_lengths``: ``b64/...`` has 64 requests.

    Raises `InputError`, with the first and the last name, for a batch that is not here.

    >>> step_models.measured_kv_lengths("b64/conv_stdev0996_4007_4070").shape
    (64,)
    """
    folder = DATA / "kv_lengths"
    known = [f"{each.parent.name}/{each.stem}" for each in sorted(folder.glob("*/*.npy"))]
    if name not in known:
        raise InputError(
            f"there are no measured KV lengths {name!r}; there are {len(known)}, from {known[0]} to {known[-1]}"
        )
    return read_kv_lengths(folder / f"{name}.npy")


@workload
def sampled_kv_lengths(requests: int, *, mean: float = 1024.0, deviation: float = 1024.0, seed: int = 0) -> np.ndarray:
    """Lengths of KV caches in rows from a log-normal distribution, rounded down: integers ``[requests]``.

    ``requests``: how many.
    ``mean``: of the distribution, in rows.
    ``deviation``: its standard deviation, in rows.
    ``seed``: of the random numbers.

    Raises `InputError` for what can not be drawn.

    >>> step_models.sampled_kv_lengths(4, mean=100, deviation=0)
    array([100, 100, 100, 100])
    """
    require(requests <= MOST, f"a sample of KV lengths must have at most {MOST:,} requests, not {requests:,}")
    if requests < 1 or not 0 < mean < np.inf or not 0 <= deviation < np.inf:
        raise InputError(
            "a sample of KV lengths needs at least one request, a mean above 0 and a deviation of at least 0, "
            f"not {requests}, {mean} and {deviation}"
        )
    settled(seed, Annotated[int, Within(0)], "the seed of a sample", InputError)
    spread = np.log1p((deviation / mean) ** 2)
    drawn = np.random.default_rng(seed).lognormal(np.log(mean) - spread / 2, np.sqrt(spread), requests)
    return drawn.astype(np.int64)
