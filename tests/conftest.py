"""For all tests: Ctrl-C and hang-ups are there, also where they were started with them ignored (``&``, ``nohup``), and
no test fails because the machine is slow; what hangs ends by ``faulthandler_timeout`` of pyproject.toml.

Simulators and the engine of the fast model are built for short runs, those of the command line too, and before them.
Python looks for cycles of dead objects less often, and never among those that are there before the first test.
"""

from __future__ import annotations

import gc
import os
import signal

import pytest
from commanding import Step, commanding
from hypothesis import HealthCheck, settings

from step.language.graph import Graph

os.environ.setdefault("STEP_OPTIMIZE", "0")
os.environ.setdefault("STEP_BACKGROUND", "0")

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

YOUNG_OBJECTS = 100_000
"""After so many new ones Python looks for cycles of dead objects: a tenth of the time went there at its 700."""

gc.disable()  # until all tests are known

DEAREST = ("test_every_scenario_is_exact", "test_every_token_comes_in_its_cycle", "test_programs_that_route_by_indices")
"""Tests that take the longest, each a large build: they begin first, so that no worker waits for one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda each: not each.name.startswith(DEAREST))


def pytest_collection_finish() -> None:
    """Thousands of tests are a million objects, which a worker would search through again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.enable()


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    """Runs the command line in this process, from the project's folder."""
    return commanding(monkeypatch, capsys)


@pytest.fixture
def graph() -> Graph:
    """An empty one, whose name is no matter."""
    return Graph("g")
