"""Three techniques of one mixture of experts beside each other: static tiles, tiles of dynamic rows, and turns.

    python -m benchmarks.techniques [--tokens 64] [--hidden 64] [--inner 64] [--rows 4] [--regions 4] [--synthesis]

The mixture is that of `examples/moe_mixtral.py`, 8 SwiGLU experts with two of them a token, on weight tiles with all
of hidden. Static tiles have ``--rows`` rows, the last one of an expert padded; a dynamic one has all rows of its
expert; turns are those on ``--regions`` sets of matmuls. Each runs in RTL, with eight channels of memory and with
one, and every token must be in the cycle of the fast model, every output bit as interpreted. Area is estimated, or with
``--synthesis`` that of Yosys.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cosim.comparing.compare import compare
from cosim.synthesis.estimate import estimate
from cosim.synthesis.families.ecp5 import Ecp5
from cosim.synthesis.measure import measure
from step import FabricConfig, Program, metrics
from step.lowering.netlist import lower
from step.running.interpreter import bind
from step_models import measured_routing, moe

EXPERTS = 8


@dataclass(frozen=True)
class TechniqueSizes:
    """Sizes of the mixture, and of its parts by each technique."""

    tokens: int = 64
    hidden: int = 64
    inner: int = 64
    columns: int = 16
    rows: int = 4
    regions: int = 4

    def program(self, rows: int | None, regions: int | None = None) -> Program:
        """The mixture in tiles of ``rows`` rows, or of a dynamic number, with room for all tokens in one of them."""
        routing = measured_routing("mixtral_b64", EXPERTS)[: self.tokens]
        return moe.program(
            routing,
            experts=EXPERTS,
            hidden=self.hidden,
            inner=self.inner,
            rows=rows,
            columns=self.columns,
            regions=regions,
            fabric=FabricConfig(dynamic_rows=self.tokens),
        )

    def techniques(self) -> dict[str, Program]:
        """The three, by what they are called."""
        return {
            f"static tiles of {self.rows} rows": self.program(self.rows),
            "dynamic tiles": self.program(None),
            f"turns on {self.regions} regions, dynamic tiles": self.program(None, self.regions),
        }


def cycles(program: Program) -> Iterator[tuple[int, int]]:
    """Cycles in RTL and tokens off time, with all channels of memory and with one; the outputs must be right."""
    for channels in (program.fabric.memory.channels, 1):
        memory = replace(program.fabric.memory, channels=channels)
        found = compare(replace(program, fabric=replace(program.fabric, memory=memory)))
        if not found.passed:
            raise SystemExit(f"{program.name}: RTL, fast model and interpreter differ")
        yield found.exact_cycles, found.mismatches


def lut_sites(program: Program, synthesis: bool) -> int:
    """The cells of the fabric on an ECP5, whether it fits into one or not."""
    netlist = lower(program.graph, program.fabric)
    report = measure(netlist, Ecp5(), place=False) if synthesis else estimate(netlist, Ecp5())
    return report.area.size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = vars(TechniqueSizes())
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--synthesis", action="store_true", help="area by Yosys, which takes hours")
    arguments = parser.parse_args()
    area = "LUT sites" if arguments.synthesis else "LUT sites, estimated"
    heads = [
        "technique",
        "cycles",
        "off time",
        "cycles, one channel",
        "off time",
        "bytes off chip",
        "bytes on chip",
        area,
    ]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    for name, program in TechniqueSizes(**{name: getattr(arguments, name) for name in sizes}).techniques().items():
        found = metrics(program.graph, program.fabric).bind(bind(program.graph, program.inputs))
        row = [name, *(f"{each:,}" for pair in cycles(program) for each in pair)]
        row += [f"{int(each):,}" for each in (found.off_chip_bytes, found.on_chip_bytes)]
        print(f"| {' | '.join([*row, f'{lut_sites(program, arguments.synthesis):,}'])} |", flush=True)


if __name__ == "__main__":
    main()
