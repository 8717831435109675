"""Machines: their memory at a clock, data in all of its channels, and what a program takes of their parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import step
from sim_approx import backend as approx
from step import BF16, FabricConfig, Graph, Program, machines
from step.errors import FabricError
from step.lowering.fabric import with_settings
from step.lowering.machines import MACHINES
from step.lowering.memory import memory_map
from step.programs.prepare import prepare
from step_explore.areas.amounts import Amounts
from step_explore.areas.model import ULTRASCALE, price
from step_explore.areas.parts import doubts, memories_of, parts_of


@pytest.mark.parametrize(
    ("name", "megahertz", "beat_bytes", "bandwidth"),
    [
        ("U55C", None, 64, 1840),
        ("U55C", 150, 128, 3067),
        ("U280", 100, 256, 4600),
        ("V80", None, 128, 2730),
        ("HBM3", None, 64, 3277),
    ],
)
def test_bandwidth_of_a_data_sheet_is_that_of_the_fabric(
    name: str, megahertz: float | None, beat_bytes: int, bandwidth: int
) -> None:
    fabric = FabricConfig.on(name, megahertz)
    assert (fabric.memory.beat_bytes, round(fabric.memory.bandwidth)) == (beat_bytes, bandwidth)
    assert with_settings(FabricConfig(), [f"machine={name}" + f"@{megahertz}MHz" * bool(megahertz)]) == fabric
    assert FabricConfig.from_json(fabric.to_json()) == fabric


def loading(count: int) -> Program:
    graph, data = Graph("loading"), dict[str, np.ndarray]()
    for each in range(count):
        tensor = graph.tensor(f"w{each}", (512, 256), BF16)
        graph.load(tensor, tile=(4, 256), name=f"load{each}").sink(f"y{each}")
        data[tensor.name] = np.zeros(tensor.shape)
    return Program(graph, data, FabricConfig.on(machines.U55C, page_bytes=2048))


def test_tensors_start_on_one_channel_after_the_other_and_all_channels_are_busy() -> None:
    program = loading(48)
    memory, regions = program.fabric.memory, memory_map(prepare(program).netlist).regions
    assert [each.base // memory.interleave % memory.channels for each in regions] == [each % 32 for each in range(48)]
    run = approx.run(program.graph, program.inputs, program.fabric, values="control")
    assert 0.8 < run.off_chip_bytes / run.cycles / memory.bandwidth < 0.94  # refresh leaves 93.3 %


def test_shares_of_the_parts() -> None:
    program = loading(2)
    graph = program.graph
    x, y = (graph.source(name, step.Tile(BF16, 64, 64), [4]) for name in "xy")
    x.map(step.functions.Matmul(out=BF16), y, name="product").sink("z")
    graph.depths["product"] = 5000
    fabric = replace(program.fabric, matmul_lanes=2048, page_bytes=8192)
    used = {each.part: each for each in parts_of(step.lower(graph, fabric))}
    assert used["dsps"].amount == pytest.approx(2048, rel=0.01)
    assert used["dsps"].share == used["dsps"].amount / 9024
    assert used["ultra_rams"].amount >= 64 * 5000 // 4096 * 8 // 9  # 5,000 tiles of 64 words of 64 bytes
    assert used["block_rams"].amount < 100
    larger = step.lower(graph, replace(fabric, machine="V80"))
    assert not doubts(larger, parts_of(larger))
    small = replace(fabric, matmul_lanes=8192)
    assert parts_of(step.lower(graph, replace(small, machine=None))) == []
    assert parts_of(step.lower(graph, replace(small, machine="HBM3"))) == []


@pytest.mark.parametrize(("ultra", "taken"), [(8, (10, 3)), (2, (12, 2))])
def test_memories_are_ultra_rams_where_block_rams_are_missing(ultra: int, taken: tuple[int, int]) -> None:
    found = Amounts()
    found.deep(72, 1024, 8)
    assert memories_of(found, 0, {"block_rams": 16, "ultra_rams": ultra}) == (16, 0)
    assert memories_of(found, 0, {"block_rams": 10, "ultra_rams": ultra}) == taken
    found.deep(72, 4096)
    assert memories_of(found, 1, {"block_rams": 99, "ultra_rams": ultra}) == (17, 1)


def test_coefficients_of_ultrascale_stand_in_front_of_those_of_an_ecp5() -> None:
    assert price("multiply.BF16_FP32") == price("multiply.FP32")
    assert price("multiply.BF16_FP32", ULTRASCALE)[1] < price("multiply.FP32", ULTRASCALE)[1]
    assert price("threefry.INT32", ULTRASCALE) == price("threefry.INT32")


def test_what_does_not_fit_is_said() -> None:
    program = loading(1)
    program.graph.depths["load0"] = 10**6
    netlist = step.lower(program.graph, program.fabric)
    (told,) = doubts(netlist, parts_of(netlist))
    assert told.startswith("loading takes ") and told.endswith(" ultra_rams, but U55C has 960")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U55D", "there is no machine 'U55D'; did you mean 'U55C'? there are U55C, U280, V80, HBM3"),
        ("V80@1s", "the clock of a machine must be a number of Hz, or of MHz without a unit, such as 250MHz, not '1s'"),
        ("U55C@11GHz", "the clock of a machine must be 1 MHz to 10 GHz, not '11GHz'"),
    ],
)  # fmt: skip
def test_bad_machines(text: str, message: str) -> None:
    with pytest.raises(FabricError) as raised:
        with_settings(FabricConfig(), [f"machine={text}"])
    assert str(raised.value) == message


def test_a_machine_is_the_budget_of_a_fit() -> None:
    program = loading(1)
    found = step.fit(program, runs=0)
    assert found.best.area.lut_sites <= MACHINES["U55C"].parts["luts"]
