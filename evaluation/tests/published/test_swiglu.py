"""Fig. 8: cycles of the SwiGLU layer as the published simulator gives them."""

from __future__ import annotations

import pytest

from experiments.published.swiglu import graph
from sim_published.backend import run
from sim_published.profile import VALIDATION


@pytest.mark.parametrize(
    "rows, columns, cycles",
    [(16, 16, 33289), (16, 32, 29400), (16, 64, 27503), (16, 128, 26993), (16, 256, 27509), (64, 64, 9537)],
)
def test_cycles_are_those_of_the_paper(rows: int, columns: int, cycles: int) -> None:
    assert run(graph(rows, columns), {}, profile=VALIDATION).cycles == cycles
