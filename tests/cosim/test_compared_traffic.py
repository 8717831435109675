"""Off-chip traffic: what `compare` says of it. (Real traffic is compared wherever `compare` is.)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cases import cases

from cosim.comparing.traffic import compare_traffic
from sim_approx import backend as approx
from step.language.dtypes import FP32
from step.language.graph import Graph
from step.language.symbols import measure
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.running.interpreter import interpret
from step.running.result import TrafficResult


def complaints(exact: TrafficResult, approximate: TrafficResult) -> list[str | None]:
    """What is said of a load and a store of six tiles of 16 bytes, whose load moved something else."""
    graph = Graph("moving")
    graph.load(graph.tensor("x", (6, 4), FP32), tile=(1, 4), name="load").store("store")
    inputs, fabric = {"x": np.ones((6, 4))}, FabricConfig()
    result = approx.run(graph, inputs, fabric)
    one, other = (replace(result, traffic={**result.traffic, "load": each}) for each in (exact, approximate))
    found = compare_traffic(lower(graph, fabric), one, other, measure(graph, interpret(graph, inputs).checkers))
    assert [(each.name, each.symbolic) for each in found] == [("load", 96), ("store", 96)]
    return [each.difference for each in found]


RIGHT, MORE = TrafficResult(96, 0, 6), TrafficResult(112, 0, 7)
METRIC = "load: 112 bytes moved, but the symbolic off-chip metric says 96"


@cases(
    (RIGHT, RIGHT, None),
    (RIGHT, MORE, "load: 6 beats to and from off-chip memory in the RTL, 7 in the model"),
    (MORE, MORE, METRIC),
)
def test_lines(exact: TrafficResult, approximate: TrafficResult, expected: str | None) -> None:
    assert complaints(exact, approximate) == [expected, None]
