"""A program that is bound by one thing gets nearly all of it; the RTL has the same cycles (tests/integration)."""

from __future__ import annotations

import pytest

from benchmarks.bandwidth import compute_bound, link_bound, memory_bound, modelled, random_bound


@pytest.mark.parametrize(
    "make, share", [(link_bound, 0.95), (memory_bound, 0.95), (random_bound, 0.95), (compute_bound, 0.9)]
)
def test_the_peak_is_reached(make, share):
    assert share <= modelled(make(100)) <= 1
