"""Places of blocks on a grid, and routes between them: ``floor.cpp``, compiled once."""

from __future__ import annotations

import ctypes
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from step.host import library
from step.host.files import cache_directory
from step.host.progress import Progress, silent
from step_explore.placing.grid import ANY, KINDS, NONE, Grid, Place

MOVES = 1000
"""Moves that are tried: so many times blocks ** 4/3 (as VPR, Betz and Rose 1997)."""

ROUNDS = 100
"""In which channels get out of each other's way."""

NEARER = 1e-3
"""Cost of a step, in hops, beside that of its hops: where these are none, fewer steps are better, too."""

SOURCE = Path(__file__).with_name("floor.cpp")
FLAGS = ("-std=c++17", library.optimization(long="-O2", short="-O1"), "-ffp-contract=off", "-fPIC", "-shared", "-pipe")
SECONDS = 2
"""The time in which g++ compiles it."""

MASKS = {kind: 1 << at for at, kind in enumerate(KINDS)} | {ANY: -1, NONE: 0}
"""By the letter of a place, a bit for each kind of unit that may stand there."""

Pull = tuple[int, int, float]
"""Two blocks, and the cost of a hop between them."""


def anneal(
    kinds: Sequence[str], pulls: Sequence[Pull], grid: Grid, hop: int, seed: int, progress: Progress = silent
) -> list[Place]:
    """The place of each block of these ``kinds``, no two in one; the same for the same arguments.

    What is made small is the sum of all ``pulls``, each times the hops along columns and rows between its blocks.
    Raises `NoLibrary` without a compiler. There must be room (`Grid.check_room`).
    """
    random, letters = Random(seed), "".join(grid.places)
    empty = defaultdict[str, list[int]](list)
    for place in random.sample(range(len(letters)), len(letters)):
        empty[letters[place]].append(place)
    places = _numbers([(empty[kind] or empty[ANY]).pop() for kind in kinds])
    may, kind_of = (_numbers([MASKS[each] for each in letters]) for letters in (letters, kinds))
    ends, weights = _numbers([pull[:2] for pull in pulls]), np.array([weight for *_, weight in pulls], float)
    floor, moves = _Floor(grid, hop), round(MOVES * len(kinds) ** (4 / 3)) * len(set(letters))
    hottest = (floor.x[-1] + floor.y[-1]) / 4 * (weights.mean() if len(pulls) else 1)
    blocks = may.ctypes, len(kinds), kind_of.ctypes, places.ctypes
    channels = len(pulls), ends.ctypes, weights.ctypes
    _library(progress).step_anneal(*floor.given, *blocks, *channels, moves, hottest, seed)
    return [(place % grid.columns, place // grid.columns) for place in places.tolist()]


def routes(
    ends: Sequence[tuple[Place, Place]], weights: Sequence[float], grid: Grid, hop: int, progress: Progress = silent
) -> list[list[Place]]:
    """The places that each channel passes between its ``ends``, these among them.

    Channels go the shortest way, those of large ``weights`` first where not all can. Where they do not fit into the
    tracks of ``grid`` more pass between some places. Raises `NoLibrary` without a compiler.
    """
    numbers = _numbers([[row * grid.columns + column for column, row in each] for each in ends])
    costs, count = np.array(weights, float), ctypes.c_int64()
    channels = len(ends), numbers.ctypes, costs.ctypes, grid.tracks or len(ends), ROUNDS, ctypes.byref(count)
    found = _library(progress).step_route(*_Floor(grid, hop).given, *channels)
    passed = iter(np.ctypeslib.as_array(found, (count.value,)).tolist() if ends else [])
    return [[divmod(next(passed), grid.columns)[::-1] for _ in range(length)] for length in passed]


class _Floor:
    """Data of a ``grid`` for ``floor.cpp``: its sides, and where columns and rows are, in hops."""

    def __init__(self, grid: Grid, hop: int) -> None:
        self.x, self.y = (np.array(each) + NEARER * np.arange(len(each)) for each in grid.along(hop))
        self.given = grid.columns, grid.rows, self.x.ctypes, self.y.ctypes


def _numbers(numbers: Sequence[Any]) -> np.ndarray:
    return np.array(numbers, np.int64)


def _library(progress: Progress) -> ctypes.CDLL:
    text = SOURCE.read_text()
    identity = hashlib.sha256(f"{FLAGS} {text}".encode()).hexdigest()
    command = [library.compiler(), *FLAGS]
    found = library.cached(cache_directory() / "placer", identity, text, command, "the placer", SECONDS, progress)
    kinds: dict[str, Any] = {"n": ctypes.c_int64, "a": ctypes.c_void_p, "d": ctypes.c_double}
    for function, arguments in ((found.step_anneal, "nnaa anaa naa ndn"), (found.step_route, "nnaa naa nna")):
        function.argtypes = [kinds[each] for each in arguments.replace(" ", "")]
    found.step_anneal.restype, found.step_route.restype = None, ctypes.POINTER(ctypes.c_int64)
    return found
