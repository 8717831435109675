"""Costs and savings of experts that take turns: cycles by the fast model, use of the lanes, and area.

    python benchmarks/multiplexing.py

Prints a row for 8, 4, 2 and 1 regions on 8 experts: cycles, share of what the matmul lanes and the memory could do in
that time, bytes on chip by the paper's accounting, and LUT sites as `step synth --estimate` has them; then the cycles
once more where memory has one channel instead of eight.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from cosim.synthesis.estimate import fabric_metrics
from sim_approx import backend as approx
from step import Program
from step.functions import Matmul
from step.language.graph import Node
from step.language.symbols import evaluate
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.plans.matmul import plan
from step.lowering.plans.plan import Application
from step.programs.metrics import metrics
from step.running.interpreter import bind
from step_models.routing import measured_routing

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import moe_mixtral
import moe_multiplexed


def lanes(node: Node, fabric: FabricConfig) -> int:
    """Multiply-accumulate lanes of the matmul at ``node``."""
    function = node.operator.function
    assert isinstance(function, Matmul)
    return plan(function, Application.at(node, fabric, reduce=node.operator.name == "accum")).arrangement.lanes


def measure(program: Program, regions: int) -> str:
    """The row of a program."""
    graph, fabric = program.graph, program.fabric
    values = bind(graph, program.inputs)
    products = [each for each in graph if isinstance(each.operator.function, Matmul)]
    made = sum(lanes(each, fabric) for each in products)
    work = sum(int(evaluate(each.operator.flops(each), values, graph)) // 2 for each in products)
    found = metrics(graph, fabric).bind(values)
    row = [str(regions), f"{made:,}", f"{int(found.on_chip_bytes):,}"]
    row.append(f"{fabric_metrics(lower(graph, fabric))['lut_sites']:,}")
    for channels in (fabric.memory.channels, 1):
        memory = replace(fabric.memory, channels=channels)
        cycles = approx.run(graph, program.inputs, replace(fabric, memory=memory)).cycles
        moved = int(found.off_chip_bytes) / (channels * memory.beat_bytes * cycles)
        row += [f"{cycles:,}", f"{work / (made * cycles):.0%}", f"{moved:.0%}"]
    return f"| {' | '.join(row)} |"


def main() -> None:
    """Measure and print."""
    print("| regions | lanes | bytes on chip | LUT sites | cycles | lanes | memory | cycles | lanes | memory |")
    trace = measured_routing(moe_mixtral.TRACE, moe_mixtral.EXPERTS)
    for regions in (8, 4, 2, 1):
        program = moe_mixtral.build(trace) if regions == 8 else moe_multiplexed.build(trace, regions)
        print(measure(program, regions), flush=True)


if __name__ == "__main__":
    main()
