"""Nothing unknown (X) leaves a fabric, whatever its memories hold at power-on: stock AXI4-Stream sinks stop at it."""

from __future__ import annotations

from pathlib import Path

import pytest
from four_state import ICARUS, unknown_at_ports
from scenarios import SCENARIOS, Scenario

from cosim.building.design import load_design
from cosim.running.bench_run import memory_image, source_transfers
from hw.design.emit import emit
from hw.links.layout import input_formats
from hw.links.packing import unpack_transfers
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.data.inputs import bind_inputs
from step.running.interpreter import interpret

pytestmark = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")

FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
ONE_EACH = {each.operator: each for each in SCENARIOS}


def check(scenario: Scenario, directory: Path, *, initial_values: bool) -> None:
    graph = Graph("states")
    inputs = scenario.build(graph)
    netlist, bound = lower(graph, FABRIC), bind_inputs(graph, inputs)
    emit(netlist, directory / "design", probes=False, initial_values=initial_values)
    design = load_design(directory / "design")
    transfers, image = source_transfers(netlist, bound), memory_image(netlist, bound)
    unknown, sinks, done = unknown_at_ports(design, directory, transfers, image, cycles=1000)
    assert unknown == []
    wanted = interpret(graph, inputs).outputs
    for name, taken in sinks.items() if scenario.ordered else ():
        node = netlist.graph.nodes[name]
        tokens = unpack_transfers(taken, node.inputs[0].element, *input_formats(node, netlist))
        assert [str(each) for each in tokens if not each.done] == [str(each) for each in wanted[name]]
    assert done


PLAYED = [
    *("linear_off_chip_load", "reassemble", "random_off_chip_store"),
    *(pytest.param(each, marks=pytest.mark.slow) for each in ("eager_merge", "partition", "source")),
]


@pytest.mark.parametrize("operator", PLAYED)
def test_nothing_unknown_leaves(operator: str, tmp_path: Path) -> None:
    check(ONE_EACH[operator], tmp_path, initial_values=True)


@pytest.mark.parametrize("name", ["map-cast-uint32-int8", "accum-matmul-1-rows1"])
def test_nothing_unknown_leaves_a_function(name: str, tmp_path: Path) -> None:
    """In words that are not full, and from sums whose places were never written."""
    (scenario,) = (each for each in SCENARIOS if each.name == name)
    check(scenario, tmp_path, initial_values=True)


@pytest.mark.parametrize(
    "operator", ["linear_off_chip_load", pytest.param("random_off_chip_store", marks=pytest.mark.slow)]
)
def test_nothing_unknown_leaves_an_asic(operator: str, tmp_path: Path) -> None:
    check(ONE_EACH[operator], tmp_path, initial_values=False)
