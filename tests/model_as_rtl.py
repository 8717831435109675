"""The fast model in place of RTL, for tests of calibrations that need no simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sim_approx import backend as approx
from step.programs.prepare import Prepared
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

    def run_rtl(prepared: Prepared, **options: Any) -> Model:
        runs.append(prepared.graph.name)
        return Model(approx.run(prepared, events=True, values="all"))

    for module in ("step_check.calibration.campaign", "step_check.calibration.memory", "cosim.comparing.compare"):
        monkeypatch.setattr(f"{module}.run_rtl", run_rtl)
    return runs
