"""A program that is bound by one thing gets nearly all of it; the RTL has the same cycles (tests/integration)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import memory
from benchmarks.bandwidth import compute_bound, link_bound, memory_bound, modelled, random_bound
from step.lowering.fabric import FabricConfig, with_settings
from step.lowering.off_chip import MemoryConfig


@pytest.mark.parametrize(
    "make, share", [(link_bound, 0.95), (memory_bound, 0.95), (random_bound, 0.95), (compute_bound, 0.9)]
)
def test_the_peak_is_reached(make, share):
    assert share <= modelled(make(100)) <= 1


@pytest.mark.parametrize("kind", ["plain", "ddr4", "hbm2"])
def test_streams_get_what_refresh_leaves(kind):
    """95 % of the data buses, but of HBM2, whose refresh takes 6.7 % of them, 95 % of the rest."""
    config = MemoryConfig.preset(kind)
    left = 1 - config.dram.trfc / config.dram.trefi if kind == "hbm2" else 1
    made = memory.program(memory.streaming, 512, writes=0, memory=config)
    assert 0.95 * left <= memory.share(made, 512, rtl=False) <= 1


@pytest.mark.parametrize(
    ("name", "bandwidth"), [("plain", 512), ("hbm2", 256), ("ddr4", 64 / 3), ("hbm3", 819.2), ("hbm3e", 1024)]
)
def test_the_bandwidth_of_presets(name, bandwidth):
    memory = MemoryConfig.preset(name)
    assert memory.bandwidth == pytest.approx(bandwidth)
    assert memory.of_bandwidth(4 * bandwidth) == replace(memory, channels=4 * memory.channels)
    doubled = with_settings(FabricConfig(memory=memory), [f"memory.bandwidth={2 * bandwidth:.1f}"])
    assert doubled.memory == replace(memory, channels=2 * memory.channels)
