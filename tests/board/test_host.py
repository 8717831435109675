"""The host in Python that a folder brings runs boards without this project, and has its bits."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")
pytest.importorskip("cocotbext.axi", reason="needs cocotbext-axi: pip install 'step-fabric[board]'")

from board_programs import FABRIC, data, moved
from c_library import COMPILER

from cosim.board.folder import Folder, Options, write_folder
from cosim.board.simulation import Simulation, build_board
from step import BF16, BOOL, FP8_E4M3, FP32, INT8, BusConfig, Graph, Program, Selector, Tile, Tuple, interpret
from step.language.tokens import to_nested
from step.programs.prepare import prepare

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def written(program: Program, directory: Path) -> tuple[Path, Folder, ModuleType]:
    """The folder of ``program``, what it has, and the package ``host`` in it."""
    bus = BusConfig(bytes=16, burst=4, address_bits=40)
    folder = write_folder(prepare(program), Options(bus, initial_values=False), directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        host = importlib.import_module("host")
        for name in [each for each in sys.modules if each.partition(".")[0] == "host"]:
            del sys.modules[name]  # the next folder has one, too
    return directory, folder, host


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder, ModuleType]:
    return written(moved(), tmp_path_factory.mktemp("board"))


class Memory:
    """A board that leaves in memory what is expected, as soon as it is started; registers are words."""

    def __init__(self, folder: Folder, left: bytes) -> None:
        registers, base = folder.tables.addresses, folder.places[0].address
        self.words = {registers["magic"]: 0x53544550, registers["version"]: 1}
        self.words[registers["hash"]] = int(folder.tables.design.fabric.hash[:8], 16)
        self.registers, self.base, self.left = registers, base, left
        self.given = b""

    def read32(self, offset: int) -> int:
        return self.words.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        if offset == self.registers["control"]:
            self.words[self.registers["status"]] = 1

    def read(self, address: int, size: int) -> bytes:
        assert (address, size) == (self.base, len(self.left))
        return self.left

    def write(self, address: int, data: bytes) -> None:
        self.given = data

    def wait(self) -> None:
        raise AssertionError("the run is over")


def everything() -> Program:
    """Tensors and streams of all kinds."""
    graph, random = Graph("kinds"), np.random.default_rng(1)
    inputs: dict[str, Any] = {}
    for dtype in (BF16, FP32, FP8_E4M3, INT8, BOOL):
        name = dtype.name.lower()
        graph.load(graph.tensor(name, (2, 6, 10), dtype), tile=(3, 5), name=f"load_{name}").store(f"stored_{name}")
        inputs[name] = random.integers(0, 2, (2, 6, 10)) if dtype == BOOL else random.integers(-9, 9, (2, 6, 10))
    a, rows = graph.symbol("A", ragged=True), graph.symbol("N", ragged=True)
    pair = Tuple((Tile(INT8, 1, 3), Tile(FP32, 1, 2)))
    elements = {"tile": Tile(BF16, 2, 3), "bits": Tile(BOOL, 3, 5), "one_of": Selector(11), "pair": pair}
    for name, element in {**elements, "rows": Tile(BF16, rows, 3)}.items():
        graph.source(name, element, [a, 2]).sink(f"{name}_out")

    def one(name: str, at: int) -> Any:
        if name == "one_of":
            return [at, at + 3]
        if name == "pair":
            return np.full((1, 3), at, np.int8), np.full((1, 2), -at, np.float32)
        shape = {"tile": (2, 3), "bits": (3, 5), "rows": (at % 3, 3)}[name]
        return random.integers(0, 2, shape).astype(np.float32)

    for name in (*elements, "rows"):
        inputs[name] = [[one(name, at), one(name, at + 1)] for at in range(3)]
    return Program(graph, inputs, fabric=FABRIC)


def given(program: Program) -> dict[str, Any]:
    """Its inputs as a host has them: selectors are vectors, and FP8 is of ml_dtypes."""
    vectors = [[np.isin(np.arange(11), each) for each in pair] for pair in program.inputs["one_of"]]
    fp8 = np.asarray(program.inputs["fp8_e4m3"]).astype(ml_dtypes.float8_e4m3fn)
    return {**program.inputs, "one_of": vectors, "fp8_e4m3": fp8}


def plain(value: Any) -> Any:
    """Arrays and lists as lists."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return np.asarray(value, np.float64).tolist()


def test_what_it_writes_and_reads(tmp_path: Path) -> None:
    program = everything()
    directory, folder, host = written(program, tmp_path)
    before, left = ((directory / "data" / f"{name}.bin").read_bytes() for name in ("memory", "expected"))
    memory = Memory(folder, left)
    board = host.Board(memory)
    found = board.run(given(program))
    assert memory.given == before
    wanted = interpret(program.graph, program.inputs).outputs
    assert set(found) == set(wanted)
    for name, tokens in wanted.items():
        nested = to_nested(tokens, 1)
        if name == "one_of_out":
            nested = [[[mask >> at & 1 for at in range(11)] for mask in pair] for pair in nested]
        if name.startswith("stored_"):
            nested = [each.value for each in tokens]
            bits = np.float32 if name == "stored_bf16" else nested[0].dtype.str if name != "stored_fp8_e4m3" else "u1"
            nested = [each.astype(bits) if name == "stored_bf16" else each.view(bits) for each in nested]
        assert plain(found[name]) == plain(nested), name
    board.check()
    memory.left = bytes([left[0] ^ 1]) + left[1:]
    board.check()  # an input: nobody looks at it
    at = folder.places[-1].address - memory.base
    memory.left = left[:at] + bytes([left[at] ^ 1]) + left[at + 1 :]
    with pytest.raises(host.BoardError) as caught:
        board.check()
    assert str(caught.value) == f"{folder.places[-1].name} is wrong from its byte 0 on"


def test_numbers_are_rounded_as_here(small: tuple[Path, Folder, ModuleType]) -> None:
    _, _, host = small
    random = np.random.default_rng(2)
    many = random.integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    many = many[~np.isnan(many)]
    bits = host.arrays.patterns(many, "BF16")
    assert np.array_equal(bits, many.astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.array_equal(host.arrays.numbers(bits, "BF16"), many.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_a_run_in_simulation(small: tuple[Path, Folder, ModuleType]) -> None:
    _, folder, host = small
    plan = {"masters": 1, "latency": 0, "pauses": 0.0, "seed": 1}
    simulation = Simulation(build_board(folder.tables.design, optimize=False), plan)

    class Simulated(host.Transport):  # type: ignore[name-defined,misc]
        def read32(self, offset: int) -> int:
            return simulation.ask("read", [offset])[0]

        def write32(self, offset: int, value: int) -> None:
            simulation.ask("set", [(offset, value)])

        def read(self, address: int, size: int) -> bytes:
            return simulation.ask("get", [(address, size)])[0]

        def write(self, address: int, data: bytes) -> None:
            simulation.ask("put", [(address, data)])

    board = host.Board(Simulated(), base=0x12_0000_0000)
    board.check()
    first = board.cycles
    assert first > 100
    for seed in range(2):
        found, wanted = board.run(data(seed)), interpret(moved().graph, data(seed)).outputs
        tiles = [each.value.astype(np.float32) for each in wanted["y"]]
        assert np.array_equal(found["y"], tiles) and plain(found["t"]) == plain(to_nested(wanted["t"], 1))
    board.start()
    with pytest.raises(host.BoardError) as caught:
        board.start()
    assert str(caught.value) == "start: a start during a run"
    board.wait()
    simulation.ask("set", [(folder.tables.addresses["watchdog"], 1)])
    with pytest.raises(host.BoardError) as caught:
        board.run(data(0))
    assert str(caught.value) == ("nothing moved for as many cycles as the watchdog allows; memory has not answered")
    simulation.close()
    with pytest.raises(Exception, match="the simulation of the board is over") as over:
        board.start()
    assert type(over.value).__name__ == "SimulationError"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "inputs must be x, s, not s"),
        ({"z": 1}, "inputs must be x, s, not x, s, z"),
        ({"x": np.zeros((4, 16))}, "x must have shape [8, 16], not [4, 16]"),
        ({"s": [[]]}, "s must have 2 entries here, not 1"),
        ({"s": [[], [np.zeros((2, 4))]]}, "an element of s must have 1 rows, not 2"),
        ({"s": [[np.zeros((1, 4))] * 600, []]}, "s: too little room, or beyond the address space"),
    ],
)
def test_inputs_that_do_not_fit(change: dict[str, Any], message: str, small: tuple[Path, Folder, ModuleType]) -> None:
    _, folder, host = small
    board = host.Board(Memory(folder, b""))
    with pytest.raises(host.BoardError) as caught:
        board.run({name: each for name, each in {**data(0), **change}.items() if each is not None})
    assert str(caught.value) == message


def test_another_board_and_a_missing_compiler(
    small: tuple[Path, Folder, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder, host = small
    other = Memory(folder, b"")
    other.words.clear()
    with pytest.raises(host.BoardError) as caught:
        host.Board(other)
    assert str(caught.value) == "board: the registers of something else"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(host.BoardError) as caught:
        host.Board(Memory(folder, b""))
    assert str(caught.value) == "there is no C compiler: install gcc, or name another one in the variable CC"


def test_files_that_are_mapped(small: tuple[Path, Folder, ModuleType], tmp_path: Path) -> None:
    """As a command, with nothing of this project."""
    directory, folder, _ = small
    registers, memory = tmp_path / "registers", tmp_path / "memory"
    board = Memory(folder, b"")
    words = np.zeros(1024, "<u4")
    for offset, value in {**board.words, board.registers["status"]: 1}.items():
        words[offset // 4] = value
    registers.write_bytes(words.tobytes())
    memory.write_bytes(bytes(folder.places[-1].end - board.base))
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(directory)!r}); "
               "import runpy; runpy.run_module('host', run_name='__main__')"]  # fmt: skip
    done = subprocess.run([*command, registers, memory, "--memory-offset=0"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: y is wrong from its byte 1 on\n"  # as there is nobody who writes it
    assert memory.read_bytes() == (directory / "data" / "memory.bin").read_bytes()
    assert np.frombuffer(registers.read_bytes(), "<u4")[board.registers["control"] // 4] == 1
    done = subprocess.run([*command, registers, tmp_path / "none"], capture_output=True, text=True)
    assert done.stderr.startswith("error: [Errno 2] No such file or directory: ")
