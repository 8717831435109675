"""AXI4 masters with models of cocotbext-axi, on Verilator and Icarus: bits, errors, resets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from boards import ICARUS, Run, Wrapped
from scenarios import SCENARIOS

from step.language.faults import Fault
from step.language.graph import Graph
from step.lowering.board import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.programs.program import load_program

needs_icarus = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")
SIMULATORS = ["verilator", pytest.param("icarus", marks=needs_icarus)]
FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
BUS = BusConfig(masters=2, bytes=8, burst=4)
STORES = next(each for each in SCENARIOS if each.name == "random_off_chip_store-moved")
SWEPT = (0, 1, 7, 60, 200)
"""Most cycles that memory takes for a beat."""


def stores(
    directory: Path,
    simulator: str,
    bus: BusConfig = BUS,
    fabric: FabricConfig = FABRIC,
    bus_period: int | None = None,
) -> Wrapped:
    """Tiles that are stored and read again where they were acknowledged, with a load and a store on each bus."""
    graph = Graph("moved")
    inputs = STORES.build(graph)
    return Wrapped(graph, fabric, bus, directory, inputs, simulator=simulator, bus_period=bus_period)


def check(wrapped: Wrapped, *runs: Run) -> list[dict[str, Any]]:
    """All of ``runs`` that are not stopped and meet no error are right; what happened in them."""
    played = wrapped.play(*runs)
    for run, each in zip(runs, played, strict=True):
        if run.stop is None and not run.errors:
            wrapped.check(run, each)
            assert each["memory_fault"] == 0
    return played


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_bits_are_those_of_the_interpreter(simulator: str, tmp_path: Path) -> None:
    check(
        stores(tmp_path, simulator),
        *(Run(seed=1, latency=0, pauses=0), Run(seed=2), Run(seed=3, latency=20, pauses=0.7)),
    )


@pytest.mark.parametrize(("beat", "bus"), [(8, 4), (8, 2), (4, 16)])
def test_a_bus_may_be_narrower_or_wider_than_a_beat(beat: int, bus: int, tmp_path: Path) -> None:
    fabric = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=beat))
    check(stores(tmp_path, "verilator", BusConfig(masters=1, bytes=bus, burst=8), fabric), Run(), Run(seed=2))


@pytest.mark.parametrize("period", [4, 26])
def test_a_bus_may_have_another_clock(period: int, tmp_path: Path) -> None:
    wrapped = stores(tmp_path, "verilator", bus_period=period)
    check(wrapped, Run(pauses=0), Run(seed=2), Run(seed=3, stop=40), Run(seed=4), Run(errors={"read": 2}), Run(seed=5))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_an_error_names_port_and_address_and_nothing_hangs(simulator: str, tmp_path: Path) -> None:
    """Any beat, read or written, then a run without."""
    wrapped = stores(tmp_path, simulator)
    places = [("read", at) for at in range(8)] + [("write", at) for at in range(8)]
    runs = [run for way, at in places for run in (Run(errors={way: at}), Run(seed=at))]
    played = check(wrapped, *runs)
    for run, each in zip(runs, played, strict=True):
        if not run.errors:
            continue
        (failed,), port = each["failed"], wrapped.board.ports[each["memory_fault_port"]]
        assert each["memory_fault"] == Fault.BUS_ERROR
        assert port.writes == ("write" in run.errors)
        # An answer to a write is that of a whole burst.
        assert failed - each["memory_fault_address"] in (range(0, 32, 8) if port.writes else [0])


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_reset_may_come_in_any_cycle(simulator: str, tmp_path: Path) -> None:
    runs = [run for stop in range(1, 60, 7) for run in (Run(seed=stop, stop=stop, latency=20), Run(seed=stop))]
    check(stores(tmp_path, simulator), *runs)


@pytest.mark.slow
@pytest.mark.parametrize("latency", SWEPT)
def test_a_reset_may_come_in_every_cycle(latency: int, tmp_path: Path) -> None:
    wrapped = stores(tmp_path, "verilator")
    (whole,) = check(wrapped, Run(latency=latency))
    stops = range(whole["cycles"] + 3)
    check(wrapped, *(run for at in stops for run in (Run(seed=at, stop=at, latency=latency), Run(latency=latency))))


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", ["moe_simple.py", "attention.py:interleaved"])
def test_examples(name: str, simulator: str, tmp_path: Path) -> None:
    program = load_program(f"examples/{name}")
    bus = BusConfig(masters=2, bytes=program.fabric.memory.beat_bytes)
    wrapped = Wrapped(program.graph, program.fabric, bus, tmp_path, program.inputs, simulator=simulator)
    check(wrapped, Run(), Run(seed=2, latency=20, pauses=0.6))
