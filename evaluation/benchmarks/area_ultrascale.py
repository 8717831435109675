"""Coefficients of `step_explore.areas` on UltraScale+, by what Yosys makes of units and channels of decoding programs.

    python -m benchmarks.area_ultrascale [--fit]

A row has the LUTs (without LUT RAM) and multipliers by the formulas, and by ``synth_xilinx -family xcup``; ``--fit``
writes the table. Names that no unit here has keep what they take of an ECP5.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial

from benchmarks.area_formulas import Sample, Table, fit, save
from cosim.synthesis.families.ultrascale import UltraScale, UltraScaleCells
from cosim.synthesis.flow import Flow
from cosim.synthesis.jobs import side_by_side
from hw.fabric import elaborate
from hw.verilog.convert import ModuleLibrary
from step import BF16, FP32, INT8, INT32, UINT32, FabricConfig, Graph, MemoryConfig, Program, Stream, Tile
from step.functions import (
    Abs,
    Add,
    AppendRow,
    Cast,
    Dequantize,
    Div,
    Exp,
    Matmul,
    Mul,
    MulAdd,
    RetileCol,
    RowMax,
    RowSum,
    Scale,
    Sub,
    Tanh,
)
from step.language.function import AccumFunction, MapFunction
from step.programs.prepare import prepare
from step_explore.areas.amounts import Amounts
from step_explore.areas.model import ULTRASCALE, Area, amounts, priced

MAPS: list[tuple[MapFunction, list[Tile], int]] = [
    (Matmul(out=INT32, bits=4), [Tile(INT8, 1, 64), Tile(INT8, 64, 32)], 64),
    (Matmul(out=INT32, bits=4), [Tile(INT8, 1, 64), Tile(INT8, 64, 32)], 32),
    (Matmul(True, FP32, "fused"), [Tile(BF16, 1, 64), Tile(BF16, 16, 64)], 64),
    (Matmul(False, FP32, "fused"), [Tile(BF16, 1, 16), Tile(BF16, 16, 64)], 64),
    (Dequantize(out=FP32), [Tile(INT32, 1, 64), Tile(BF16, 1, 64)], 8),
    (Mul(), [Tile(FP32, 1, 512), Tile(FP32, 1, 1)], 8),
    (Mul(out=FP32), [Tile(BF16, 1, 512), Tile(FP32, 1, 1)], 8),
    (Mul(), [Tile(BF16, 1, 512), Tile(BF16, 1, 512)], 8),
    (Mul(out=FP32), [Tile(BF16, 1, 64), Tile(BF16, 1, 64)], 4),
    (Add(), [Tile(BF16, 1, 512), Tile(BF16, 1, 512)], 8),
    (Add(out=BF16), [Tile(FP32, 1, 64), Tile(BF16, 1, 64)], 4),
    (Sub(out=FP32), [Tile(BF16, 1, 512), Tile(FP32, 1, 1)], 8),
    (Sub(), [Tile(FP32, 1, 16), Tile(FP32, 1, 1)], 4),
    (MulAdd(out=BF16), [Tile(FP32, 1, 512), Tile(BF16, 1, 512), Tile(BF16, 1, 512)], 8),
    (Scale(0.7), [Tile(BF16, 1, 512)], 8),
    (Scale(0.7), [Tile(FP32, 1, 16)], 4),
    (Abs(), [Tile(BF16, 1, 512)], 8),
    (Cast(INT8), [Tile(FP32, 1, 512)], 8),
    (Cast(BF16), [Tile(FP32, 1, 64)], 4),
    (RowSum(), [Tile(BF16, 1, 512)], 8),
    (RowSum(), [Tile(FP32, 1, 512)], 4),
    (RowMax(), [Tile(BF16, 1, 512)], 8),
    (Tanh(), [Tile(BF16, 1, 512)], 4),
    (Exp(out=BF16), [Tile(FP32, 1, 16)], 4),
    (Div(), [Tile(FP32, 1, 64), Tile(FP32, 1, 1)], 4),
    (AppendRow(), [Tile(BF16, 16, 64), Tile(UINT32), Tile(BF16, 1, 64)], 8),
]
"""Functions, of tiles, on so many lanes."""

MEASURED: Table = {
    "matmul.sum_bits": [1.0, 0.0, 0.0, 0.0],
    "multiply.INT4": [6.0, 1.0, 0.0, 0.0],
    "matmul.assembled_bits": [0.7187, 0.0, 0.0, 0.0],
    "map.bits": [0.0, 0.0, 0.0, 0.0],
    "accum.bits": [0.0, 0.0, 0.0, 0.0],
}
"""Lanes of INT4 are those of ``benchmarks.arithmetic``, as units here do not tell them and what is around them apart;
registers of operands are those of an ECP5. Tiles of more bits need no more logic: their memories count alone."""


def program() -> Program:
    """All units; a link has the words of the lanes' widest operand."""
    graph, links, lanes = Graph("units"), dict[str, int](), dict[str, int]()

    def ends(made: Stream, name: str, link: int = 32) -> None:
        made.sink(f"{name}_out")
        links[name] = link

    for at, (function, tiles, count) in enumerate(MAPS):
        name = f"map{at}"
        first, *others = (graph.source(f"{name}_in{port}", tile, [4]) for port, tile in enumerate(tiles))
        widest = max(tile.dtype.bits for tile in tiles)
        ends(first.map(function, *others, name=name), name, max(16, count * widest // 8) if count < 16 else 32)
        if not isinstance(function, AppendRow):
            lanes[name] = count
    sums: list[tuple[str, Tile, AccumFunction]] = [
        ("sum", Tile(FP32, 1, 64), Add()),
        ("joined", Tile(BF16, 1, 64), RetileCol()),
    ]
    for name, tile, reduction in sums:
        ends(graph.source(f"{name}_in", tile, [4, 8]).accum(reduction, name=name), name)
    lanes["sum"] = 8
    for name, shape in (("weights", (64, 256)), ("scales", (1, 64))):
        address = graph.source(f"{name}_at", Tile(UINT32), [4])
        tensor = graph.tensor(name, (shape[0] * 4, shape[1]), INT8)
        ends(address.load_random(tensor, tile=shape, name=f"load_{name}"), f"load_{name}", 64)
        tensor = graph.tensor(f"{name}_linear", (shape[0] * 4, shape[1]), INT8)
        ends(graph.load(tensor, tile=shape, name=f"linear_{name}"), f"linear_{name}", 64)
    return Program(graph, fabric=FabricConfig(links=links, lanes=lanes, memory=MemoryConfig(beat_bytes=64)))


def samples() -> dict[str, Sample]:
    """Amounts without LUT RAM, and what Yosys makes of each unit, and of the channels in front of some."""
    netlist, family = prepare(program()).netlist, UltraScale()
    fabric, known = elaborate(netlist), amounts(netlist)
    parts = {each.node.name: (("unit", each.node.name), each.component) for each in fabric.units}
    parts = {name: each for name, each in parts.items() if name in netlist.fabric.links}
    wanted = ("map0_in1", "map5_in0", "map6_in0", "map9", "load_weights")
    parts |= {
        f"channel {each.edge.name}": (("channel", each.edge.name), each.component)
        for each in fabric.channels
        if each.edge.name in wanted
    }
    library = ModuleLibrary(generic=False)
    for _, component in parts.values():
        library.require(component)
    flow = Flow(library.texts(), family.check(), family)
    jobs = [(name, partial(flow.area, component.module_name)) for name, (_, component) in parts.items()]
    areas = dict(zip(parts, side_by_side(jobs, "synthesising", lambda *_: None), strict=True))
    found = {}
    for name, (key, _) in parts.items():
        cells = areas[name]
        assert isinstance(cells, UltraScaleCells)
        logic = Amounts({each: much for each, much in known[key].items() if not each.startswith("lut_ram")})
        found[name] = logic, Area(cells.lut, cells.dsp, cells.block_ram)
    return found


def fitted(found: Iterable[Sample]) -> Table:
    """Coefficients of all that is not `MEASURED`."""
    left = []
    for amount, area in found:
        told = priced(Amounts({name: each for name, each in amount.items() if name in MEASURED}), ULTRASCALE)
        left.append((Amounts({name: each for name, each in amount.items() if name not in MEASURED}), area - told))
    return fit(left) | MEASURED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true")
    found = samples()
    if parser.parse_args().fit:
        save(MEASURED, ULTRASCALE)
        save(fitted(found.values()), ULTRASCALE)
    for name, (amount, area) in found.items():
        said = priced(amount, ULTRASCALE)
        print(f"{name}: {said.lut_sites:,.0f} of {area.lut_sites:,} LUTs, {said.multipliers:.1f} of {area.multipliers}")


if __name__ == "__main__":
    main()
