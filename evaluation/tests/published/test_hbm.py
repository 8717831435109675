"""Memory of the published profile: what one request takes, and that C++ and Python are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from raising import raising

from sim_published.compiled import CompiledHbm
from sim_published.hbm import PythonHbm
from sim_published.profile import Hbm, PublishedProfile
from step import ProgramWarning
from step.errors import FabricError


@pytest.mark.parametrize("memory", [PythonHbm, CompiledHbm])
@pytest.mark.parametrize("requests", [1, 64])
def test_a_tile_takes_its_requests_and_18_cycles(memory: type[PythonHbm | CompiledHbm], requests: int) -> None:
    hbm = memory(Hbm(), 1, 1)
    hbm.issue(0, 1, requests)  # sent at time 0
    assert hbm.advance(10**9) == (0, requests + 18)


def test_nothing_is_answered_before_it_is_known() -> None:
    hbm = PythonHbm(Hbm(), 1, 1)
    hbm.issue(0, 100, 10)
    assert hbm.advance(105) is None
    assert hbm.advance(110) == (0, 99 + 10 + 18)


@pytest.mark.filterwarnings("ignore::step.ProgramWarning")
@pytest.mark.parametrize("seed", range(5))
def test_compiled_memory_is_the_same(seed: int) -> None:
    numbers = random.Random(seed)
    shape = Hbm(numbers.choice([3, 8, 32]), numbers.choice([1, 2, 3]))
    dispatch, ports = numbers.choice([1, 4]), 12
    ours, compiled = PythonHbm(shape, dispatch, ports), CompiledHbm(shape, dispatch, ports)
    time, idle = 0, list(range(ports))
    for _ in range(300):
        while idle and numbers.random() < 0.7:
            port = idle.pop(numbers.randrange(len(idle)))
            start, requests = time + numbers.randrange(1, 40), numbers.randrange(1, 90)
            for each in (ours, compiled):
                each.issue(port, start, requests)
        answer = ours.advance(1 << 62)
        assert compiled.advance(1 << 62) == answer
        if answer is not None:
            port, time = answer
            idle.append(port)
            for each in (ours, compiled):
                each.pop()


def answered(channels: int, ports: int, requests: int = 200) -> int:
    """When the last of the ``ports`` is answered that all send so many requests, one a cycle each."""
    hbm = PythonHbm(Hbm(channels), 1, ports)
    for port in range(ports):
        hbm.issue(port, 0, requests)
    times = []
    while (answer := hbm.advance(10**9)) is not None:
        times.append(answer[1])
        hbm.pop()
    return max(times)


@pytest.mark.filterwarnings("ignore::step.ProgramWarning")
def test_more_channels_may_be_slower() -> None:
    """Eight of 12 ports at a time meet 7, the same ones in every cycle, and one of these twice."""
    assert answered(8, 8) < answered(12, 8) and answered(16, 8) < answered(12, 8)


@pytest.mark.parametrize(
    ("channels", "fewer", "reached"), [(3, 2, 2), (6, 4, 4), (12, 8, 8), (31, 16, 16), (96, 64, 64)]
)
def test_a_number_of_channels_that_is_slow_is_warned_of(channels: int, fewer: int, reached: int) -> None:
    with pytest.warns(ProgramWarning) as warned:
        Hbm(channels=channels)
    assert [(str(each.message), each.filename) for each in warned] == [
        (
            f"the published memory may be slower with {channels} channels than with {fewer}: the requests of a cycle "
            f"go 0, 1, 3, 6, 10, .. channels behind that of the first one, which reaches only {reached} of {channels} "
            f"channels, but all of a power of two; take {fewer} or {2 * fewer}",
            __file__,
        )
    ]


@pytest.mark.filterwarnings("error")
def test_powers_of_two_are_not_warned_of() -> None:
    assert [Hbm(channels=1 << bits).channels for bits in range(8)] == [1, 2, 4, 8, 16, 32, 64, 128]


@pytest.mark.parametrize(
    ("made", "values", "message"),
    [
        (Hbm, {"latency": -1}, "latency of the published profile must be an integer >= 0, not -1"),
        (Hbm, {"start_up": 1.5}, "start_up of the published profile must be an integer >= 0, not 1.5"),
        (Hbm, {"channels": 10**30}, f"channels of the published profile must be at most 1,048,576, not {10**30:,}"),
        (Hbm, {"chanels": 8}, "Hbm has no parameter 'chanels'; did you mean 'channels'? it has channels, interval, "
         "latency, start_up, request_bytes"),
        (PublishedProfile, {"hbm": 8}, "hbm of the published profile must be a Hbm, not 8"),
        (PublishedProfile, {"flops_of": {"y": 0}},
         "flops_of['y'] of the published profile must be an integer >= 1, not 0"),
        (PublishedProfile, {"flops_of": 3}, "flops_of of the published profile must be a dictionary, by name, not 3"),
        (PublishedProfile, {"switch": "a"}, "switch of the published profile must be an integer >= 0, not 'a'"),
        (PublishedProfile, {"scalar_bytes": 0}, "scalar_bytes of the published profile must be an integer >= 1, not 0"),
        (PublishedProfile, {"honour_depths": 1}, "honour_depths of the published profile must be True or False, not 1"),
    ],
)  # fmt: skip
def test_a_profile_that_there_is_not(made: type, values: dict[str, Any], message: str) -> None:
    with raising(FabricError, message):
        made(**values)
