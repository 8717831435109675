"""A fabric does not care what its registers and memories hold at power-on: reset is enough, as an ASIC needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosim.building.build import build
from cosim.building.design import load_design
from cosim.running.bench_run import memory_image, run_simulator, source_transfers, write_inputs
from cosim.running.run_files import read_run
from hw.design.emit import emit
from step.functions import Cast, Matmul, RetileRow, Silu
from step.language.dtypes import BF16, FP32
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import bind_inputs

FABRIC = FabricConfig(matmul_lanes=2, vector_lanes=2)


def program() -> Graph:
    """Routing, padding, a product, a table and both kinds of memory traffic."""
    graph = Graph("power")
    rows = graph.load(graph.tensor("x", (6, 2), BF16), tile=(1, 2)).flatten(0, 2)
    kept, others = rows.partition(graph.selectors("routing", 2, [6]), targets=2)
    tiles = kept.reshape(2)[0].accum(RetileRow())
    weight = graph.load(graph.tensor("w", (2, 2), BF16), tile=(2, 2), out=(1,), reference=tiles).flatten(0, 1)
    tiles.map(Matmul(out=FP32), weight).map(Silu()).map(Cast(BF16)).store("y")
    others.sink("rest")
    return graph


@pytest.mark.slow
def test_any_contents_at_power_on_give_the_same_run(tmp_path: Path) -> None:
    netlist = lower(program(), FABRIC)
    random = np.random.default_rng(0)
    data = {"routing": [0, 1, 0, 0, 1, 0], "x": random.random((6, 2)), "w": random.random((2, 2))}
    bound = bind_inputs(program(), data)
    emit(netlist, tmp_path / "design", probes=True, initial_values=False)
    design = load_design(tmp_path / "design")
    built = build(design)

    def run(number: int, *contents: str) -> dict[str, Any]:
        directory = tmp_path / f"run{number}"
        directory.mkdir()
        write_inputs(design, directory, source_transfers(netlist, bound), memory_image(netlist, bound))
        run_simulator(built, "cosim.running.bench", directory, ["+max_cycles=10000", "+log", *contents], None)
        found = read_run(design, directory, 0.0)
        same = ("status", "cycles", "sinks", "memory", "faults")
        return {name: getattr(found, name) for name in same} | {
            "events": (found.enters.tolist(), found.leaves.tolist())
        }

    zeros = run(0)
    assert zeros["status"] == "finished" and len(zeros["sinks"]["rest"]) == 3
    for number, how in ((1, ("+verilator+rand+reset+1",)), (2, ("+verilator+rand+reset+2", "+verilator+seed+7"))):
        assert run(number, *how) == zeros
