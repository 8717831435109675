"""Nothing unknown (X) leaves a fabric, whatever its memories hold at power-on: stock AXI4-Stream sinks stop at it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import SCENARIOS, Scenario
from test_testbench import needs_icarus, simulated, written

from cosim.building.design import BenchDesign, load_design
from step.language.graph import Graph
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program

pytestmark = needs_icarus

FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
ONE_EACH = {each.operator: each for each in SCENARIOS}


def looks(design: BenchDesign) -> str:
    """Verilog that tells of every X at the ports of ``design``: with ``valid`` what goes with it must be known, and
    ``valid``, ``ready`` and the status in every cycle behind the reset."""
    always = ["probe_finished", "probe_fault", *(f"{each.port}_tready" for each in design.sources)]
    offers = {f"{each.port}_tvalid": each.parts for each in design.sinks}
    offers |= {f"{each.port}__request__valid": [f"{each.port}__request__payload"] for each in design.reads}
    offers |= {f"{each.port}__valid": [f"{each.port}__payload"] for each in design.writes}
    seen = [("1'b1", name) for name in (*always, *offers)]
    seen += [(f"fabric.{valid}", name) for valid, names in offers.items() for name in names]
    tests = (f'if ({valid} && ^fabric.{name} === 1\'bx) $display("X at {name}");' for valid, name in seen)
    return f"  always @(negedge clk) if (!rst) begin {' '.join(tests)} end\n"


def check(scenario: Scenario, directory: Path, *, initial_values: bool) -> None:
    graph = Graph("states")
    program = Program(graph, scenario.build(graph), FABRIC)
    top = written(program, directory, initial_values=initial_values)
    bench = directory / "bench" / f"{top}.sv"
    text = bench.read_text().replace("endmodule\n", looks(load_design(directory)) + "endmodule\n")
    bench.write_text(text)
    status, output = simulated(directory, top)
    assert "X at" not in output
    assert (status == 0 and output.startswith("PASSED: ")) or ("words differ" in output and not scenario.ordered)


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
