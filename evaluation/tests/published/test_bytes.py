"""Bytes that runs move off chip are those of the symbolic metrics, for every kind of point, at small size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from experiments import layers as shared
from experiments.published import batches, layers, mixtures, moe, swiglu
from experiments.published.point import PublishedPoint
from experiments.published.rows import CAMPAIGN
from sim_published.metrics import off_chip_bytes
from sim_published.profile import VALIDATION
from step.errors import UnboundSymbol
from step_models.configurations import configuration
from step_models.routing import sampled_routing

LENGTHS = np.array([40, 3, 95, 64, 31, 7, 200])
LAYER = moe.MixtureSizes(hidden=64, inner=96, experts=8, columns=48)


def mixture(rows: int | None, regions: int | None, monkeypatch: pytest.MonkeyPatch) -> PublishedPoint:
    """One of few tokens, of which some experts get none."""
    routing = sampled_routing(7, 8, 2, skew=1.5, seed=3)
    assert len(np.unique(routing)) < 8
    monkeypatch.setattr(mixtures, "measured_routing", lambda trace, experts: routing)
    return mixtures.mixture("small", LAYER, "", rows, regions, moe.STATIC)


@pytest.mark.parametrize("rows, regions", [(2, None), (4, None), (None, None), (2, 4), (2, 1)])
def test_mixtures(rows: int | None, regions: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    row = CAMPAIGN.row(mixture(rows, regions, monkeypatch), "any")
    used, charged = int(row["used_on_chip_bytes"]), int(row["all_on_chip_bytes"])
    assert used <= charged and row["on_chip_bytes"] == str(used if rows is None or regions else charged)
    assert used < charged
    assert int(row["equation_on_chip_bytes"]) > 0


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("kind", ["artifact", "true"])
def test_requests(kind: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "batches", lambda: [("small", LENGTHS, 8)])
    points: Callable[[], Any] = layers.true_attention if kind == "true" else lambda: batches.requests("a", LENGTHS, 8)
    row = CAMPAIGN.row(list(points())[index], "any")
    tiles = int((LENGTHS // 32 + 1).sum())
    assert int(row["off_chip_bytes"]) > tiles * 2 * 32 * 64 * 2


def test_a_layer_of_swiglu() -> None:
    row = CAMPAIGN.row(PublishedPoint("small", VALIDATION, lambda: (swiglu.graph(16, 64), {})), "any")
    assert int(row["off_chip_bytes"]) == 4 * (64 * 256 * 512 // 64 + 64 // 16 * 3 * 256 * 512 + 64 * 256)


def test_decoder_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(
        configuration("Qwen3-30B-A3B"),
        **{"hidden": 128, "inner": 64, "experts": 4, "query_heads": 4, "key_value_heads": 2, "head_size": 64},
        experts_per_token=2,
    )
    lengths = np.resize(LENGTHS, 64)
    monkeypatch.setattr(shared, "configuration", lambda name: small)
    monkeypatch.setattr(shared, "measured_routing", lambda trace, experts: sampled_routing(64, 4, 2, seed=1))
    monkeypatch.setattr(shared, "measured_kv_lengths", lambda name: lengths)
    static, _, dynamic = (CAMPAIGN.row(each, "any") for each in islice(layers.layers(), 3))
    assert int(dynamic["off_chip_bytes"]) < int(static["off_chip_bytes"])


def test_a_symbol_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = mixture(2, None, monkeypatch).make()
    with pytest.raises(UnboundSymbol, match=r"^these symbols have no value; .*\n  route_D\d: from 'route'"):
        off_chip_bytes(graph, {})
