"""A host moves what changed, has two runs in flight, and gives views of outputs."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from raising import raising

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")
pytest.importorskip("cocotbext.axi", reason="needs cocotbext-axi: pip install 'step-fabric[board]'")

from board_hosts import Memory, written
from board_programs import FABRIC, data, moved
from c_library import COMPILER

from cosim.board.folder import Folder
from cosim.board.simulation import BoardProcess, build_board
from step import BF16, BOOL, UINT32, Graph, Program, Tile, interpret
from step.functions import Add
from step.language.tokens import to_nested

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def heavy() -> Program:
    """8 MB of weights, 8 KB of input, and 520 KB of output."""
    graph, random = Graph("heavy"), np.random.default_rng(1)
    weights = graph.load(graph.tensor("w", (2048, 2048), BF16), tile=(64, 64), name="weights")
    weights.accum(Add(), name="sum").sink("t")
    graph.load(graph.tensor("x", (64, 64), BF16), tile=(64, 64), name="load").store("y")
    inputs = {"w": random.integers(-1, 2, (2048, 2048)), "x": random.integers(-9, 9, (64, 64))}
    return Program(graph, {name: each.astype(np.float32) for name, each in inputs.items()}, fabric=FABRIC)


@pytest.mark.large
def test_weights_of_8_mb_are_moved_once(tmp_path: Path) -> None:
    """A second run moves its inputs and outputs, and at most 5 % more."""
    program = heavy()
    directory, folder, host = written(program, tmp_path)
    memory = Memory(folder, (directory / "data" / "expected.bin").read_bytes())
    board, (w, x) = host.Driver(memory), program.inputs.values()
    first = board.run({"w": w, "x": x})
    results, once = 2 * first["y"].size + np.asarray(first["t"]).nbytes, sum(memory.moved["write"])
    assert 2 * w.size + 2 * x.size <= once <= 1.05 * (2 * w.size + 2 * x.size)

    def moved_by(inputs: dict[str, Any]) -> int:
        memory.moved = {"read": [], "write": []}
        assert np.array_equal(board.run(inputs)["y"], first["y"])
        return sum(memory.moved["read"]) + sum(memory.moved["write"])

    most = 1.05 * (2 * x.size + results)
    assert results < moved_by({"w": w, "x": x + 1}) <= most  # the same weights again
    assert moved_by({"w": w, "x": x + 1}) <= 1.05 * results
    weights = board.hold("w", w + 1)
    for number in range(2):
        assert 2 * x.size + results <= moved_by({"w": weights, "x": x + number}) <= most


class Simulated:
    """The transport to a simulation; ``told`` are its transfers: what, from which address on, and how much."""

    def __init__(self, folder: Folder, host: ModuleType) -> None:
        plan = {"masters": 1, "latency": 0, "pauses": 0.0, "seed": 1}
        self.process = BoardProcess(build_board(folder.tables.design, optimize=False), plan)
        self.told = told = list[tuple[str, int, int]]()
        process, addresses = self.process, folder.tables.addresses

        class Transport(host.Transport):  # type: ignore[name-defined,misc]
            interrupts = True

            def read32(self, offset: int) -> int:
                return int(process.ask("read", [offset])[0])

            def write32(self, offset: int, value: int) -> None:
                if offset == addresses["control"]:
                    told.append(("control", value, 0))
                process.ask("set", [(offset, value)])

            def read(self, address: int, size: int) -> bytes:
                told.append(("read", address, size))
                found = process.ask("get", [(address, size)])[0]
                return bytes(found.ljust(size, b"\0"))  # pages that nobody wrote

            def write(self, address: int, data: bytes) -> None:
                told.append(("write", address, len(data)))
                process.ask("put", [(address, data)])

            def wait(self) -> None:
                told.append(("interrupt", 0, 0))
                process.ask("interrupt")

        self.transport = Transport()


def right(found: dict[str, Any], seed: int) -> None:
    wanted = interpret(moved().graph, data(seed)).outputs
    assert np.array_equal(found["y"], [each.value.astype(np.float32) for each in wanted["y"]])
    nested = to_nested(wanted["t"], 1)
    assert [[each.tolist() for each in row] for row in found["t"]] == [
        [np.asarray(each, np.float32).tolist() for each in row] for row in nested
    ]


@pytest.mark.large
def test_two_runs_in_flight_in_simulation(small: tuple[Path, Folder, ModuleType]) -> None:
    """Inputs of the second one are written while the first one runs, behind which it is queued; interrupts end both."""
    _, folder, host = small
    simulated = Simulated(folder, host)
    told, board = simulated.told, host.Driver(simulated.transport)
    runs = [board.start(data(seed)) for seed in (1, 2)]
    first = told.index(("control", 1, 0))
    assert [each for each, _, _ in told[first + 1 :]] == ["write"] * 4 + ["control"]
    with raising(host.BoardError, "two runs are in flight; wait() for the first one before the next start"):
        board.start(data(3))
    assert not runs[1].done and not runs[0].done
    for seed, run in enumerate(runs, 1):
        right(run.wait(), seed)
        assert run.cycles > 100
    assert [given for what, given, _ in told if what == "control"] == [2, 1, 4] and ("interrupt", 0, 0) in told
    held, begin = board.hold("x", data(4)["x"]), len(told)
    runs = [board.start({**data(seed), "x": held}) for seed in (5, 6)]
    for seed, run in ((6, runs[1]), (5, runs[0])):  # in another order
        found = run.wait()
        assert np.array_equal(found["y"].reshape(8, 16), data(4)["x"])
        assert list(map(len, found["t"])) == list(map(len, data(seed)["s"]))
    places = {each.name: each for each in folder.places}
    assert not [each for each in told[begin:] if each[0] == "write" and each[1] == places["load"].address]
    simulated.process.close()


def test_a_second_run_of_a_design_in_simulation_moves_what_changed(small: tuple[Path, Folder, ModuleType]) -> None:
    _, folder, host = small
    simulated = Simulated(folder, host)
    board = host.Driver(simulated.transport)
    held = board.hold("x", data(0)["x"])
    for seed in range(2):
        begin = len(simulated.told)
        board.run({**data(0), "s": data(seed)["s"], "x": held})
    request = 16 * FABRIC.memory.beat_bytes
    values = -(-8 * sum(map(len, data(1)["s"])) // request) * request
    rows = sum(map(len, data(1)["s"]))
    wanted = [("write", values), ("write", request), ("write", 64), ("read", 256), ("read", request), ("read", 64),
              ("read", -(-8 * rows // 64) * 64)]  # fmt: skip
    moves = [(what, size) for what, _, size in simulated.told[begin:] if what in ("read", "write")]
    assert moves == wanted
    simulated.process.close()


def kept() -> Program:
    """A tensor of which a run writes two tiles of four."""
    graph, four = Graph("kept"), Tile(BF16, 1, 4)
    tensor = graph.tensor("kept", (4, 4), BF16)
    graph.source("x", four, [2]).store_random(tensor, graph.source("at", Tile(UINT32), [2]), name="put").sink("done")
    inputs = {"kept": np.zeros((4, 4)), "x": [np.ones((1, 4))] * 2, "at": [1, 3]}
    return Program(graph, inputs, fabric=FABRIC)


def test_a_tensor_that_goes_from_run_to_run(tmp_path: Path) -> None:
    directory, folder, host = written(kept(), tmp_path)
    left = (directory / "data" / "expected.bin").read_bytes()
    memory = Memory(folder, left)
    board, inputs = host.Driver(memory), {"x": [np.ones((1, 4))] * 2, "at": [1, 3]}
    at = next(each for each in folder.places if each.name == "kept").address - memory.base
    memory.memory[at : at + 64] = b"?" * 64
    run = board.start(inputs)
    assert not any(memory.given[at : at + 32])
    with raising(host.BoardError, "kept goes from run to run: wait() for the run in flight before the next start"):
        board.start(inputs)
    assert run.wait()["kept"].tolist() == [[0] * 4, [1] * 4] * 2
    memory.moved["write"].clear()
    board.run(inputs)
    assert memory.moved["write"] == [64]  # the list of the acknowledgements, which is cleared
    with raising(host.BoardError, "kept is stored by the program: none to hold"):
        board.hold("kept", np.zeros((4, 4)))


def test_runs_that_fail_are_told_by_themselves(small: tuple[Path, Folder, ModuleType]) -> None:
    """The fault of a run is raised by its own wait, and so is what stands in the way of the next start."""
    directory, folder, host = small

    class Broken(Memory):
        broken = False

        def write32(self, offset: int, value: int) -> None:
            if self.broken and (offset, value) == (self.registers["control"], 1):
                raise ConnectionError("no start")
            super().write32(offset, value)

    memory = Broken(folder, (directory / "data" / "expected.bin").read_bytes())
    board = host.Driver(memory)
    one = board.start(data(1))
    memory.status(4)
    two = board.start(data(2))
    assert not one.done and not two.done
    memory.words[memory.registers["fault"]] = 13
    memory.status(16, 2)
    memory.broken = True
    for run, error, message in (
        (one, host.BoardError, "nothing moved for as many cycles as the watchdog allows"),
        (two, ConnectionError, "no start"),
    ):
        for _ in range(2):
            with raising(error, message):
                run.wait()
    memory.broken = False
    assert list(board.run(data(1))) == ["y", "t"]


def test_no_run_of_somebody_else_goes_on(small: tuple[Path, Folder, ModuleType]) -> None:
    """A driver begins with a board at rest, and at its end, or that of the program, no run is in flight."""
    directory, folder, host = small
    memory = Memory(folder, (directory / "data" / "expected.bin").read_bytes())
    status, idle, busy = memory.registers["status"], 2, 4
    memory.started = 1
    memory.status(busy)  # of a process that was killed
    board = host.Driver(memory)
    assert memory.words[status] == idle
    run = board.start(data(1))
    memory.status(busy)
    (own,) = (each for each in weakref.finalize._registry if each.peek() and each.peek()[0] is board)  # type: ignore[attr-defined]
    del board
    gc.collect()
    assert own.alive and own.atexit and memory.words[status] & busy  # the run has its driver, and that its buffers
    own()
    assert memory.words[status] == idle
    assert not run.ended


def test_a_run_that_is_broken_off_goes_on(small: tuple[Path, Folder, ModuleType]) -> None:
    """It has its buffers until its end, and the next one waits for that."""
    directory, folder, host = small

    class Interrupted(Memory):
        stops = True

        def wait(self) -> None:
            self.status(1)
            if self.stops:
                self.status(4)
                raise KeyboardInterrupt

    memory = Interrupted(folder, (directory / "data" / "expected.bin").read_bytes())
    starting = memory.write32

    def started(offset: int, value: int) -> None:
        starting(offset, value)
        if (offset, value) == (memory.registers["control"], 1):
            memory.status(4)

    memory.write32 = started  # type: ignore[method-assign]
    board = host.Driver(memory)
    with pytest.raises(KeyboardInterrupt):
        board.run(data(1))
    memory.moved["write"].clear()
    run = board.start(data(2))
    assert len(board._runs) == 2 and not run.done and run.buffers is board._buffers[1]
    memory.stops = False
    assert list(run.wait()) == ["y", "t"] and board._runs == []
    run = board.start(data(3))
    run.drop()
    assert len(board._runs) == 1
    memory.status(1)
    with raising(host.BoardError, "the run was dropped, and so are its outputs"):
        run.wait()
    assert board._runs == []


def test_views_of_outputs(tmp_path: Path) -> None:
    graph, random = Graph("viewed"), np.random.default_rng(3)
    graph.load(graph.tensor("x", (2, 6, 10), BF16), tile=(3, 5), name="load").store("y")
    tiled = graph.tensor("z", (2, 6, 10), BF16)
    tiles = graph.load(graph.tensor("v", (2, 6, 10), BF16), tile=(3, 5), name="tiles").flatten(0, 3)
    tiles.store_random(tiled, graph.source("at", Tile(UINT32), [8]), name="put").sink("done")
    graph.load(graph.tensor("b", (4, 8), BOOL), tile=(4, 8), name="bits").store("c")
    inputs = {name: random.integers(-9, 9, (2, 6, 10)).astype(np.float32) for name in ("x", "v", "z")}
    inputs |= {"b": random.integers(0, 2, (4, 8)), "at": list(range(8))}
    directory, folder, host = written(Program(graph, inputs, fabric=FABRIC), tmp_path)
    memory = Memory(folder, (directory / "data" / "expected.bin").read_bytes())
    board = host.Driver(memory)
    run = board.start(inputs)
    with raising(host.BoardError, "c is BOOL, whose bits have no view"):
        run.wait(in_place=True)
    board._kinds.pop("c")
    found = run.wait(in_place=True)
    copied = board.run(inputs)
    for name, shape in (("y", (8, 3, 5)), ("z", (2, 2, 2, 3, 5))):
        view = found[name]
        assert view.shape == shape and np.shares_memory(view, np.frombuffer(memory.memory, np.uint8))
        numbers = host.arrays.numbers(view, "BF16")
        tiles = numbers if name == "y" else numbers.transpose(0, 1, 3, 2, 4).reshape(2, 6, 10)
        assert np.array_equal(tiles, copied[name])
    assert np.array_equal(copied["z"], inputs["v"])
