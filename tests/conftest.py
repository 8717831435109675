"""For all tests: Ctrl-C and hang-ups are there, also where they were started with them ignored (``&``, ``nohup``), and
no test fails because the machine is slow; what hangs ends by ``faulthandler_timeout`` of pyproject.toml.

Simulators are built for short runs, those of the command line too.
Python looks for cycles of dead objects less often, and never among those that are there before the first test.
"""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from step.__main__ import YOUNG_OBJECTS
from step.language.graph import Graph

os.environ.setdefault("STEP_OPTIMIZE", "0")

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_collection_finish() -> None:
    """Thousands of tests are a million objects, which a worker would search through again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


@pytest.fixture
def graph() -> Graph:
    """An empty one, whose name is no matter."""
    return Graph("g")
