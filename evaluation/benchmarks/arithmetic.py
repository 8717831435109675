"""Area and clock of every piece of arithmetic, alone between registers.

    python -m benchmarks.arithmetic [NAME ...] [--stages 4] [--seeds 3] [--target 100]

A row has the cells of the piece on an ECP5 and on UltraScale+, and its median clock of so many ``--seeds`` (0: none) on
the ECP5, with registers at all ports.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median

from rich.console import Console
from rich.table import Table

from cosim.synthesis.cells import Cells
from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.families.family import CellFamily
from cosim.synthesis.families.ultrascale import UltraScale
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import Stop
from hw.arithmetic.bf16_multiply import Bf16Multiply
from hw.arithmetic.convert import Convert
from hw.arithmetic.divide import Divide, Reciprocal
from hw.arithmetic.exp import Exp
from hw.arithmetic.fp32_add import Fp32Add
from hw.arithmetic.fp32_multiply import Fp32Multiply
from hw.arithmetic.fused_sum import FusedNumbers
from hw.arithmetic.gelu import Gelu
from hw.arithmetic.integer_multiply import IntegerMultiply
from hw.arithmetic.integers import FromInteger, ToInteger
from hw.arithmetic.log import Log
from hw.arithmetic.multiply_accumulate import IntegerMultiplyAccumulate, MultiplyAccumulate
from hw.arithmetic.rsqrt import Rsqrt, Sqrt
from hw.arithmetic.silu import Sigmoid, Silu
from hw.arithmetic.sine import Sin
from hw.arithmetic.tanh import Tanh
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric, flat_ports
from hw.verilog.structure import Instance, Structure, port_widths
from step.language.dtypes import BF16, FP32, INT32

PIECES: dict[str, Callable[[int], Parametric]] = {
    "FP32 addition": Fp32Add,
    "FP32 product": Fp32Multiply,
    "BF16 product": Bf16Multiply,
    "FP32 to BF16": lambda stages: Convert(FP32, BF16),
    "multiply-accumulate": MultiplyAccumulate,
    "multiply-accumulate of INT8": lambda stages: IntegerMultiplyAccumulate(8),
    "multiply-accumulate of INT8 and INT4": lambda stages: IntegerMultiplyAccumulate(4),
    "two of INT8 and INT4": lambda stages: IntegerMultiplyAccumulate(4, pairs=True),
    "16 multiply-accumulates, fused": lambda stages: MultiplyAccumulate(stages, 16),
    "sum of 16 FP32 numbers, fused": lambda stages: FusedNumbers(16, stages),
    "SiLU": Silu,
    "exponential": Exp,
    "quotient": Divide,
    "GELU": Gelu,
    "hyperbolic tangent": Tanh,
    "reciprocal": Reciprocal,
    "reciprocal square root": Rsqrt,
    "square root": Sqrt,
    "logistic function": Sigmoid,
    "natural logarithm": Log,
    "sine": Sin,
    "INT32 product": lambda stages: IntegerMultiply(INT32, INT32, INT32, stages),
    "FP32 to INT32": lambda stages: ToInteger(INT32, stages),
    "INT32 to FP32": lambda stages: FromInteger(INT32, stages),
}

WIDTH = 160


def alone(piece: Parametric) -> Structure:
    """A design that is ``piece``."""
    structure, widths = Structure("alone"), port_widths(piece)
    for name, member, _ in flat_ports(piece):
        structure.ports[name] = ("input" if member.flow.name == "In" else "output", widths[name])
    structure.instances.append(Instance("piece", piece, {name: name for name in widths}, "the piece"))
    return structure


def flow(piece: Parametric, family: CellFamily) -> Flow:
    """The tools of ``family`` for ``piece``."""
    library = ModuleLibrary(initial_values=family.initial_values)
    library.require(piece)
    return Flow(library.texts(), family.check(), family)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PIECES))
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--target", type=float, default=Ecp5.target, help="the clock to aim at, in MHz")
    options = parser.parse_args()
    unknown = [each for each in options.names if each not in PIECES]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(PIECES)}")
    stop, ecp5, ultrascale = Stop(), Ecp5(seeds=options.seeds, target=options.target), UltraScale()
    table = Table("piece", "ECP5", "MHz", "UltraScale+")
    for name in options.names or PIECES:
        piece = PIECES[name](options.stages)
        tools = flow(piece, ecp5)
        area, large = (each.area(piece.module_name, stop) for each in (tools, flow(piece, ultrascale)))
        clocks = [tools.netlist(alone(piece), stop).time(run, stop).mhz for run in ecp5.runs]
        table.add_row(name, _cells(area), f"{median(clocks):.0f}" if clocks else "-", _cells(large))
    Console(width=WIDTH).print(table)


def _cells(area: Cells) -> str:
    return ", ".join(f"{count:,} {cell}" for cell, count in area.columns.items() if count)


if __name__ == "__main__":
    main()
