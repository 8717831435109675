"""The fast model in place of RTL, for tests of calibrations that need no simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sim_approx import backend as approx
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.running.result import RunResult


@dataclass(frozen=True)
class Model:
    """A run of the fast model with its formulas, which stands for one of RTL."""

    result: RunResult
    cycles_per_second: float = 0.0
    build_seconds: float = 0.0


def model_as_rtl(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the fast model stand for RTL; the list gets the name of a program for each run."""
    runs: list[str] = []

    def run_rtl(graph: Graph, inputs: Any, fabric: FabricConfig, **options: Any) -> Model:
        runs.append(graph.name)
        return Model(approx.run(graph, inputs, fabric, events=True, values="all"))

    for module in ("cosim.calibration.campaign", "cosim.calibration.memory", "cosim.compare"):
        monkeypatch.setattr(f"{module}.run_rtl", run_rtl)
    return runs
