"""AXI4 masters with models of cocotbext-axi: bits, errors, resets. Default tests that need registers, too, are in
`test_registers`, on Verilator; these here are on the quickest simulator, or slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from boards import ICARUS, QUICKEST, Run, Wrapped
from programs import BUS, FABRIC, kept_rows, row_data

from hw.axi.wrapper import wrapped
from hw.fabric import elaborate
from hw.verilog.structure import top_text
from step.language.graph import Graph
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.off_chip import MemoryConfig
from step.programs.program import load_program

pytestmark = pytest.mark.large

needs_icarus = pytest.mark.skipif(ICARUS is None, reason="needs Icarus Verilog")
SIMULATORS = ["verilator", pytest.param("icarus", marks=needs_icarus)]
SWEPT = (0, 1, 7, 60, 200)
"""Most cycles that memory takes for a beat."""


def kept(
    directory: Path, simulator: str, bus: BusConfig = BUS, fabric: FabricConfig = FABRIC, bus_period: int | None = None
) -> Wrapped:
    graph = Graph("kept")
    kept_rows(graph)
    inputs = row_data(1, [2, 1]), row_data(2, [1])
    return Wrapped(graph, fabric, bus, directory, *inputs, simulator=simulator, bus_period=bus_period)


def check(wrapped: Wrapped, *runs: Run) -> list[dict[str, Any]]:
    """All of ``runs`` that are not stopped and meet no error are right; what happened in them."""
    played = wrapped.play(*runs)
    for run, each in zip(runs, played, strict=True):
        if run.errors:
            wrapped.check_fault(run, each, *(each[f"memory_fault{rest}"] for rest in ("", "_port", "_address")))
        elif run.stop is None:
            wrapped.check(run, each)
            assert each["memory_fault"] == 0
    return played


def test_bits_errors_and_resets(tmp_path: Path) -> None:
    """Without registers."""
    check(
        kept(tmp_path, QUICKEST),
        *(Run(latency=0, pauses=0), Run(seed=2), Run(seed=3, latency=20, pauses=0.7)),
        *(run for way in ("read", "write") for run in (Run(errors={way: 2}), Run(seed=4))),
        *(run for at in range(1, 60, 13) for run in (Run(seed=at, stop=at, latency=20), Run(data=1, seed=at))),
    )


@pytest.mark.parametrize(("beat", "bus"), [(8, 4), (8, 2), (4, 16)])
def test_a_bus_may_be_narrower_or_wider_than_a_beat(beat: int, bus: int, tmp_path: Path) -> None:
    fabric = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=beat))
    check(kept(tmp_path, QUICKEST, BusConfig(masters=1, bytes=bus, burst=8), fabric), Run(), Run(data=1, seed=2))


@pytest.mark.parametrize("period", [4, 26])
def test_a_bus_may_have_another_clock(period: int, tmp_path: Path) -> None:
    wrapped = kept(tmp_path, QUICKEST, bus_period=period)
    check(wrapped, Run(pauses=0), Run(seed=3, stop=40), Run(seed=4), Run(errors={"read": 2}), Run(seed=5))


def test_tools_are_told_the_clock_of_each_bus(graph: Graph) -> None:
    kept_rows(graph)
    netlist = lower(graph, FABRIC)
    text = top_text(wrapped(elaborate(netlist).structure, netlist, board_of(netlist, BUS), own_clock=True))
    assert '"ASSOCIATED_BUSIF x:w:t:y, ASSOCIATED_RESET rst" *)\n  input wire clk' in text
    assert '"ASSOCIATED_BUSIF m_axi0:m_axi1, ASSOCIATED_RESET bus_rst" *)\n  input wire bus_clk' in text
    assert 'bus_rst RST", X_INTERFACE_PARAMETER = "POLARITY ACTIVE_HIGH" *)\n  input wire bus_rst' in text


@pytest.mark.slow
@pytest.mark.parametrize("latency", SWEPT)
def test_a_reset_may_come_in_every_cycle(latency: int, tmp_path: Path) -> None:
    wrapped = kept(tmp_path, "verilator")
    (whole,) = check(wrapped, Run(latency=latency))
    stops = range(whole["cycles"] + 3)
    check(wrapped, *(run for at in stops for run in (Run(seed=at, stop=at, latency=latency), Run(latency=latency))))


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", ["moe_simple.py", "attention.py:interleaved", "recirculate.py"])
def test_examples(name: str, simulator: str, tmp_path: Path) -> None:
    """A mixture of experts, attention, and one that keeps a tensor in memory."""
    program = load_program(f"examples/{name}")
    bus = BusConfig(masters=2, bytes=program.fabric.memory.beat_bytes)
    wrapped = Wrapped(program.graph, program.fabric, bus, tmp_path, program.inputs, simulator=simulator)
    check(wrapped, Run(), Run(seed=2, latency=20, pauses=0.6))
