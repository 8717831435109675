"""Areas by formulas, beside the estimate that counts operators in Verilog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cosim.synthesis.estimate import fabric_metrics
from step import FP32, FabricConfig, Graph, Tile
from step.functions import Mul
from step.lowering.netlist import Netlist, lower
from step.programs.prepare import prepare
from step_explore.areas import Area, area_of
from step_explore.areas.amounts import Amounts
from step_explore.areas.model import ULTRASCALE, amounts, price, priced


def example(name: str) -> Netlist:
    return prepare(f"examples/{name}.py").netlist


@pytest.mark.parametrize("name", ["moe_simple", "swiglu"])
def test_formulas_are_near_the_estimate(name: str) -> None:
    netlist = example(name)
    found, known = area_of(netlist), fabric_metrics(netlist)
    assert found.lut_sites == pytest.approx(known["lut_sites"], rel=0.1)
    assert found.multipliers == pytest.approx(known["multipliers"], rel=0.02)


def test_fewer_lanes_take_less() -> None:
    netlist = example("swiglu")
    narrow = area_of(replace(netlist, fabric=replace(netlist.fabric, matmul_lanes=8, vector_lanes=4)))
    assert narrow.lut_sites < 0.6 * area_of(netlist).lut_sites


def test_an_operator_of_its_own_lanes() -> None:
    netlist = example("moe_simple")
    one = next(node.name for node in netlist.units if node.operator.function is not None)
    products = [node.name for node in netlist.units if "matmul" in str(node.operator).lower()]
    assert one and products
    fabric = replace(netlist.fabric, lanes={products[0]: 2})
    assert area_of(replace(netlist, fabric=fabric)).multipliers < area_of(netlist).multipliers


def test_memories_by_their_words() -> None:
    found = Amounts()
    found.shallow(10, 1)
    assert found == {}
    found.shallow(10, 2)
    found.shallow(10, 17)
    found.deep(72, 513)
    assert found == {"pair_bits": 10, "lut_ram_cells": 6, "lut_ram_rows": 10, "block_rams": 4}


def test_what_was_not_measured_is_as_dear_as_the_dearest() -> None:
    assert price("multiply.OTHER") == max(price(f"multiply.{each}") for each in ("BF16", "FP32", "INT8", "INT32"))
    assert price("unknown") == (0, 0, 0, 0)


def test_a_scalar_that_is_repeated_is_chosen_once() -> None:
    """Yosys makes one choice of 4 rows for all lanes and columns: 1,218 LUTs of an UltraScale+ in all."""
    graph = Graph("scaled")
    rows, sizes = graph.source("rows", Tile(FP32, 4, 128), [4]), graph.source("sizes", Tile(FP32, 4, 1), [4])
    rows.map(Mul(), sizes, name="sized").sink("y")
    netlist = lower(graph, FabricConfig(links={"sized": 32}, lanes={"sized": 8}))
    found = amounts(netlist)["unit", "sized"]
    assert found["store.picks_bits"] == 4 * 32
    assert priced(found, ULTRASCALE).lut_sites == pytest.approx(1218, rel=0.15)


def test_areas_add_up() -> None:
    assert (Area(1, 2, 3, 4) + Area(1.4)).times(2) - Area(0.8) == Area(4, 4, 6, 8)
    assert Area(1.4, 2).rounded() == {"lut_sites": 1, "multipliers": 2, "block_rams": 0, "lut_rams": 0}
