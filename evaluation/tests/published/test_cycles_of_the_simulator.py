"""Attention for requests that no figure has, as the published simulator takes them: its cycles were measured.

Its memory ends a cycle behind the last operator, or not, by the order in which it runs its contexts; so a run of it is
as long as ours, or a cycle longer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.published.attention import ARRANGEMENTS, PROFILE
from sim_published.backend import run
from sim_published.profile import Hbm, PublishedProfile
from step import UINT32, Graph, Tile
from step.functions.counting import CountFrom


def cycles(arrangement: str, lengths: list[int], depth: int, hbm: Hbm | None = None, dispatch: int = 1) -> int:
    """Cycles of requests with ``lengths``, in channels of ``depth``."""
    made = ARRANGEMENTS[arrangement](np.array(lengths), 202)
    profile = replace(PROFILE, channel_depth=depth, dispatch=dispatch, hbm=hbm or Hbm())
    return run(made.graph, made.inputs, profile=profile).cycles


@pytest.mark.parametrize(("requests", "depth", "measured"), [(8, 7, 506), (8, 2, 510), (12, 2, 683), (16, 2, 858)])
def test_requests_of_one_length_by_turns(requests: int, depth: int, measured: int) -> None:
    assert cycles("interleaved", [40] * requests, depth) in (measured, measured - 1)


@pytest.mark.parametrize(
    ("arrangement", "requests", "depth", "hbm", "dispatch", "measured"),
    [
        ("interleaved", 12, 3, Hbm(channels=5), 1, 19627),
        ("interleaved", 16, 7, Hbm(channels=9, latency=40, interval=1), 1, 20861),
        ("interleaved", 20, 2, Hbm(channels=7, latency=10, interval=3, start_up=5), 2, 26496),
        ("interleaved", 24, 16, Hbm(channels=12, latency=1, start_up=20), 1, 22113),
        ("coarse", 32, 5, Hbm(channels=9, interval=1), 4, 24451),
        ("dynamic", 12, 8, Hbm(channels=5, latency=10, interval=3, start_up=20), 1, 22586),
    ],
)
def test_requests_of_all_lengths(
    arrangement: str, requests: int, depth: int, hbm: Hbm, dispatch: int, measured: int
) -> None:
    lengths = [397 * number % 1500 for number in range(requests)]
    assert cycles(arrangement, lengths, depth, hbm, dispatch) in (measured, measured - 1)


def test_an_answer_takes_a_cycle_at_least() -> None:
    assert cycles("coarse", [40], 1, Hbm(latency=0, start_up=0)) == cycles(
        "coarse", [40], 1, Hbm(latency=1, start_up=0)
    )


def test_a_flat_map_has_its_first_operand_before_the_second_one_comes() -> None:
    graph = Graph("late")
    first = graph.source("first", Tile(UINT32), [2])
    second = graph.source("second", Tile(UINT32), [2]).promote(name="once").flatten(0, 1, name="late")
    first.flat_map(CountFrom(), second.assume_shape(first.shape), name="counted").sink("y")
    result = run(graph, {"first": [1, 1], "second": [1, 1]}, profile=PublishedProfile(channel_depth=1))
    assert result.operators["first"].blocked == 2
