"""A mixture behind its router, and attention whose lengths are made by the program, in RTL; in one build."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from dynamic import checked

from step import Graph, Program

sys.path.append(str(Path(__file__).parents[1] / "models"))

from test_streams_of_models import FABRIC, behind, routed


@pytest.mark.slow  # RTL has the operators of both in `test_exact`, and experts and attention in `test_models_exact`
def test_routing_and_lengths_that_the_program_makes(graph: Graph) -> None:
    mixture = routed(graph, tokens=4, experts=2, chosen=1)
    inputs = behind(graph, np.array([1, 3]))
    checked(Program(graph, {**mixture.inputs, **inputs}, FABRIC))
