"""Memory of the published profile: what one request takes, and that C++ and Python are the same."""

from __future__ import annotations

import random

import pytest

from sim_published.compiled import CompiledHbm
from sim_published.hbm import PythonHbm
from sim_published.profile import Hbm


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
