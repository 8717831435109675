"""Registers of a board, by a host that has nothing else: runs, faults, deadlocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from registered import Registered, Started
from scenarios import SCENARIOS

from step.language.faults import Fault
from step.language.graph import Graph
from step.lowering.board import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig
from step.lowering.registers import MAGIC, VERSION
from step.running.result import Activity

FABRIC = FabricConfig(matmul_lanes=8, link_bytes=4, memory=MemoryConfig(beat_bytes=8))
BUS = BusConfig(masters=2, bytes=8, burst=4)
STORES = next(each for each in SCENARIOS if each.name == "random_off_chip_store-moved")
DONE, FAULT, WATCHDOG = 1, 2, 4


def stores(directory: Path) -> Registered:
    graph = Graph("moved")
    inputs = STORES.build(graph)
    others = {**inputs, "z": np.array([6, 4, 2, 5], np.uint32)}  # the second store goes elsewhere
    return Registered(graph, FABRIC, BUS, directory, inputs, others, simulator="verilator")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Registered:
    return stores(tmp_path_factory.mktemp("board"))


def test_runs_follow_each_other_with_other_data(board: Registered) -> None:
    runs = [Started(data=at % 2, seed=at) for at in range(100)]
    for run, each in zip(runs, board.play(*runs), strict=True):
        board.check(run, each)
        assert each["told"] == DONE
        assert board.field(each, "status", "done") and board.field(each, "status", "idle")
        assert not board.field(each, "status", "busy") and not board.field(each, "fault", "code")
    assert each["registers"]["magic"] == MAGIC and each["registers"]["version"] == VERSION
    assert f"{each['registers']['hash']:08x}" == board.hash[:8]


def test_a_hang_is_told_apart(board: Registered) -> None:
    hangs = [Started(without_done="x", watchdog=500), Started(dead=True, watchdog=500)]
    runs = [hangs[0], Started(), hangs[1], Started()]
    no_done, after, no_memory, last = board.play(*runs)
    for run, each in ((runs[1], after), (runs[3], last)):
        board.check(run, each)
        assert each["told"] == DONE
    for each in (no_done, no_memory):
        assert each["told"] == WATCHDOG
        assert board.field(each, "fault", "code") == Fault.NO_MOVEMENT
    numbers = {each.name: at for at, each in enumerate(board.netlist.units)}
    assert not board.field(no_done, "status", "memory_waits")
    assert ("x_broadcast", "x", "starved") in board.waits(no_done)
    assert no_done["activities"][numbers["x"]] == Activity.STARVED  # a source, which waits for nobody but the host
    assert board.field(no_memory, "status", "memory_waits")
    assert ("random_off_chip_store_1", "random_off_chip_load_0", "starved") in board.waits(no_memory)


def test_a_start_during_a_run_is_refused(board: Registered) -> None:
    runs = [Started(again=True), Started()]
    first, second = board.play(*runs)
    for run, each in zip(runs, (first, second), strict=True):
        board.check(run, each)
    assert board.field(first, "error", "start_refused") and not board.field(second, "error", "start_refused")


def test_an_error_of_memory_names_port_and_address(board: Registered) -> None:
    runs = [run for way in ("read", "write") for run in (Started(errors={way: 2}), Started())]
    played = board.play(*runs)
    for run, each in zip(runs, played, strict=True):
        if not run.errors:
            board.check(run, each)
            continue
        assert each["told"] == FAULT
        assert board.field(each, "fault", "code") == Fault.BUS_ERROR
        port = board.board.ports[board.field(each, "memory_fault", "port")]
        assert port.writes == ("write" in run.errors)
        address = each["registers"]["memory_fault_low"] | each["registers"]["memory_fault_high"] << 32
        assert each["failed"][0] - address in (range(0, 32, 8) if port.writes else [0])


def test_a_reset_ends_a_run(board: Registered) -> None:
    runs = [run for stop in range(1, 80, 9) for run in (Started(seed=stop, stop=stop, latency=60), Started(seed=stop))]
    for run, each in zip(runs, board.play(*runs), strict=True):
        if run.stop is None or each["told"]:
            board.check(run, each)
        else:
            assert each["told"] == 0 and not board.field(each, "status", "done")
