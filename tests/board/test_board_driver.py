"""A board in simulation gives what the interpreter does, run after run, and tells what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")
pytest.importorskip("cocotbext.axi", reason="needs cocotbext-axi: pip install 'step-fabric[board]'")

from board_programs import data, moved

from cosim.board.driver import Board, BoardRun
from cosim.board.simulation import build_board
from step.errors import Deadlock, EnvironmentProblem, InputError
from step.lowering.bus import BusConfig
from step.lowering.registers import PATIENCE
from step.running.interpreter import interpret


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    with Board(moved(), bus=BusConfig(bytes=16, burst=4, address_bits=40), optimize=False) as made:
        yield made


def check(board: Board, run: BoardRun, seed: int) -> None:
    wanted = interpret(board.program.graph, data(seed)).outputs
    assert set(run.outputs) == set(wanted) and run.cycles > 0
    for name, tokens in wanted.items():
        assert list(map(str, run.outputs[name].tokens)) == list(map(str, tokens))


def test_runs_follow_each_other_with_other_data(board: Board) -> None:
    for seed in range(3):
        check(board, board.run(data(seed)), seed)
    check(board, board.run(data(1), bases={"y": 0x12_3456_7008}), 1)


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ({"z": 0}, "the board has no image 'z'; it has load, s_values, s_list, y, t_values, t_list"),
        ({"y": 0x1004}, "the base of 'y' must be a multiple of the 8 bytes of a beat, not 0x1004"),
        (
            {"load": 0x9000_0000, "y": 0x9000_0008},
            "'y' at 0x90000008 lies in 'load', which is at 0x90000000 and takes 4,096 bytes",
        ),
        (
            {"y": (1 << 40) - 8},
            "'y' at 0xfffffffff8 takes 4,096 bytes, beyond the 40 address bits of the bus",
        ),
    ],
)
def test_bases_that_do_not_do(board: Board, bases: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        board.run(data(0), bases=bases)
    assert str(caught.value) == message


def test_inputs_of_another_shape(board: Board) -> None:
    with pytest.raises(InputError) as caught:
        board.run({**data(0), "x": data(0)["x"][:4]})
    assert str(caught.value) == "input 'x' must have shape [8, 16], not [4, 16]"


def test_a_start_during_a_run(board: Board) -> None:
    board.start(data(1))
    with pytest.raises(InputError) as caught:
        board.start(data(2))
    assert str(caught.value) == "the board is running; wait() for the end of the run before the next start"
    check(board, board.wait(), 1)


def test_a_run_that_fails_and_the_next_one(board: Board) -> None:
    board._set({"watchdog": 1})
    with pytest.raises(Deadlock) as caught:
        board.run(data(1))
    assert "  memory has not answered" in str(caught.value).splitlines()
    board._set({"watchdog": PATIENCE})
    check(board, board.run(data(2)), 2)


def test_a_missing_model_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    design: Any = None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem) as caught:
        build_board(design)
    assert str(caught.value) == (
        "a board in simulation needs the package cocotbext-axi; install it with: pip install 'step-fabric[board]'"
    )
