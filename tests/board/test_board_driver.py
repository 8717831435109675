"""A board in simulation gives what the interpreter does, run after run, and tells what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from raising import raising

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")
pytest.importorskip("cocotbext.axi", reason="needs cocotbext-axi: pip install 'step-fabric[board]'")

from board_programs import data, moved

from step import BF16, Board, BusConfig, FabricConfig, Graph, MemoryConfig, Program, Run, Tile, interpret
from step.errors import Deadlock, EnvironmentProblem, InputError, SimulationError, StreamFault
from step.lowering.registers import PATIENCE
from step.running.result import RunResult

pytestmark = pytest.mark.large

BUS = BusConfig(bytes=16, burst=4, address_bits=40)


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    with Board(moved(), bus=BUS, optimize=False) as made:
        yield made


def check(board: Board, run: Run, seed: int, x: int | None = None) -> None:
    """The outputs of the data of ``seed``, with the tensor of ``x`` where it is given."""
    wanted = interpret(board.program.graph, data(seed) | ({} if x is None else {"x": data(x)["x"]})).outputs
    assert set(run.outputs) == set(wanted) and run.cycles > 0
    for name, tokens in wanted.items():
        assert list(map(str, run.outputs[name].tokens)) == list(map(str, tokens))


def test_runs_follow_each_other_with_other_data(board: Board) -> None:
    for seed in range(3):
        check(board, board.run(data(seed)), seed)
    check(board, board.run(data(1), bases={"y": 0x12_3456_7008}), 1)


def test_what_did_not_change_is_not_moved(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs as they were are not written again, and no input is read back."""
    moved, ask = list[tuple[str, list[int]]](), board._simulation.ask

    def told(what: str, given: Any = None) -> Any:
        if what in ("put", "get"):
            moved.append((what, [each[0] for each in given]))
        return ask(what, given)

    check(board, board.run(data(1)), 1)
    monkeypatch.setattr(board._simulation, "ask", told)
    check(board, board.run({**data(2), "x": data(1)["x"]}), 2, x=1)
    places = {each.name: each.address for each in board._placed}
    changed, results = ["s_values", "s_list", "t_list"], ["y", "t_values", "t_list"]
    assert moved == [("put", [places[each] for each in changed]), ("get", [places[each] for each in results])]
    check(board, board.run(data(2), bases={"y": 0x12_3456_7000}), 2)
    assert len(moved[2][1]) == 4  # all inputs, and the list of t


@cases(
    ({"z": 0}, "the board has no image 'z'; it has load, s_values, s_list, y, t_values, t_list"),
    ({"y": 0x1004}, "the base of 'y' must be a multiple of the 8 bytes of a beat, not 0x1004"),
    ({"load": 0x9000_0000, "y": 0x9000_0008},
     "'y' at 0x90000008 lies in 'load', which is at 0x90000000 and takes 4,096 bytes"),
    ({"y": (1 << 40) - 8}, "'y' at 0xfffffffff8 takes 4,096 bytes, beyond the 40 address bits of the bus"),
)  # fmt: skip
def test_bases_that_do_not_do(bases: dict[str, int], message: str, board: Board) -> None:
    with raising(InputError, message):
        board.run(data(0), bases=bases)


def test_inputs_of_another_shape(board: Board) -> None:
    with raising(InputError, "input 'x' must have shape [8, 16], not [4, 16]"):
        board.run({**data(0), "x": data(0)["x"][:4]})


def test_a_start_during_a_run(board: Board) -> None:
    board.start(data(1))
    with raising(InputError, "the board is running; wait() for the end of the run before the next start"):
        board.start(data(2))
    check(board, board.wait(), 1)
    with raising(InputError, "the board is not running; start() a run before wait()"):
        board.wait()


def test_a_run_that_fails_and_the_next_one(board: Board) -> None:
    board._set({"watchdog": 1})
    with pytest.raises(Deadlock) as caught:
        board.run(data(1))
    assert "  memory has not answered" in str(caught.value).splitlines()
    assert caught.value.result is not None and caught.value.result.status == "deadlock"
    board._set({"watchdog": PATIENCE})
    check(board, board.run(data(2)), 2)


@pytest.mark.slow
def test_a_store_of_any_number_of_tiles_keeps_to_its_room(graph: Graph) -> None:
    """Which is a page, where there are so few addresses."""
    graph.source("x", Tile(BF16, 4, 16), [graph.symbol("D", ragged=True)]).store("y")
    fabric = FabricConfig(link_bytes=8, memory=MemoryConfig(beat_bytes=8))
    program = Program(graph, {"x": np.ones((33, 4, 16))}, fabric=fabric)
    with Board(program, bus=BusConfig(bytes=8, address_bits=15), optimize=False) as board:
        with pytest.raises(StreamFault) as caught:
            board.run()
        said = f"{graph.nodes['y'].describe()}: what it writes does not fit into its region of memory"
        assert str(caught.value) == said
        assert board.run({"x": np.ones((32, 4, 16))}).cycles > 32 * 16


def test_a_run_in_a_notebook(board: Board, tmp_path: Path) -> None:
    run = board.run()
    assert repr(run) == f"<run of moved on board: {run.cycles:,} cycles>" and repr(run)[8:-1] in run._repr_html_()
    run.save(tmp_path / "run.json")
    assert RunResult.load(tmp_path / "run.json").cycles == run.cycles
    assert repr(board) == "<board of moved: 1 AXI4 master of 16 bytes>"


def test_an_interruption_ends_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    with Board(moved(), bus=BUS, optimize=False) as board:

        def interrupted(what: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(board._simulation._connection, "send", interrupted)
        with pytest.raises(KeyboardInterrupt):
            board.run()
        with raising(SimulationError, "the simulation of the board is over; make another Board"):
            board.run()


def test_a_simulator_that_breaks_off_says_what_it_said(board: Board) -> None:
    with Board(moved(), bus=BUS, optimize=False) as other:
        other._simulation._process.kill()
        with pytest.raises(SimulationError) as caught:
            other.run()
        assert str(caught.value).startswith("the simulator broke off (killed by signal 9):\n")
        with raising(SimulationError, "the simulation of the board is over; make another Board"):
            other.run()


def test_buses_of_the_fabric_are_those_of_the_board() -> None:
    fabric = replace(moved().fabric, memory=replace(moved().fabric.memory, bus=BUS))
    with Board(moved(), fabric=fabric, optimize=False) as board:
        assert board.bus == BUS
        check(board, board.run(data(1)), 1)


@cases(
    ({"latencies": 5}, "latencies has no effect on step.Board; did you mean 'latency'? it takes latency, pauses, "
     "watchdog, base, optimize, progress"),
    ({"pauses": 1}, "pauses must be at most 0.9, not 1"),
    ({"watchdog": 1 << 32}, "watchdog must be at most 4,294,967,295, not 4,294,967,296"),
    ({"base": -1}, "base must be an integer >= 0, not -1"),
    ({"bus": 2}, "bus must be a BusConfig or None, not 2"),
)  # fmt: skip
def test_options(options: dict[str, Any], message: str) -> None:
    with raising(InputError, message):
        Board(moved(), **options)


def test_a_missing_model_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with raising(
        EnvironmentProblem,
        "a board in simulation needs the package cocotbext-axi; install it with: pip install 'step-fabric[board]'",
    ):
        Board(moved())


@cases(
    ({"base": 0x1004}, "the base of 'load' must be a multiple of the 8 bytes of a beat, not 0x1004"),
    ({"base": -4096}, "base must be an integer >= 0, not -4096"),
    ({"base": (1 << 40) - 4096},
     "'s_values' at 0x10000000000 takes 4,096 bytes, beyond the 40 address bits of the bus"),
)  # fmt: skip
def test_a_base_that_does_not_do(options: dict[str, int], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is built."""
    monkeypatch.setattr("cosim.board.board.board_design", None)
    with raising(InputError, message):
        Board(moved(), bus=BUS, **options)
