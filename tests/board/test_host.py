"""The host in Python that a folder brings runs boards without this project, and has its bits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
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
from step import BF16, BOOL, FP8_E4M3, FP32, INT8, Graph, Program, Selector, Tile, Tuple, interpret
from step.language.tokens import to_nested

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


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
    board = host.Driver(memory)
    found = board.run(given(program))
    assert memory.given == before and sum(memory.moved["write"]) < len(before) / 4
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
    with raising(host.BoardError, f"{folder.places[-1].name} is wrong from its byte 0 on"):
        board.check()


def test_numbers_are_rounded_as_here(host: ModuleType) -> None:
    random = np.random.default_rng(2)
    many = random.integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    many = many[~np.isnan(many)]
    bits = host.arrays.patterns(many, "BF16")
    assert np.array_equal(bits, many.astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.array_equal(host.arrays.numbers(bits, "BF16"), many.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_a_run_in_simulation(folder: Folder, host: ModuleType) -> None:
    plan = {"masters": 1, "latency": 0, "pauses": 0.0, "seed": 1}
    simulation = BoardProcess(build_board(folder.tables.design, optimize=False), plan)

    class Simulated(host.Transport):  # type: ignore[name-defined,misc]
        def read32(self, offset: int) -> int:
            return simulation.ask("read", [offset])[0]

        def write32(self, offset: int, value: int) -> None:
            simulation.ask("set", [(offset, value)])

        def read(self, address: int, size: int) -> bytes:
            return simulation.ask("get", [(address, size)])[0]

        def write(self, address: int, data: bytes) -> None:
            simulation.ask("put", [(address, data)])

    board = host.Driver(Simulated(), base=0x12_0000_0000)
    board.check()
    first = board.cycles
    assert first > 100
    for seed in range(2):
        found, wanted = board.run(data(seed)), interpret(moved().graph, data(seed)).outputs
        tiles = [each.value.astype(np.float32) for each in wanted["y"]]
        assert np.array_equal(found["y"], tiles) and plain(found["t"]) == plain(to_nested(wanted["t"], 1))
    simulation.ask("set", [(folder.tables.addresses["watchdog"], 1)])
    with raising(host.BoardError, "nothing moved for as many cycles as the watchdog allows; memory has not answered"):
        board.run(data(0))
    simulation.close()
    with pytest.raises(Exception, match="the simulation of the board is over") as over:
        board.run(data(0))
    assert type(over.value).__name__ == "SimulationError"


def test_numbers_that_it_has(host: ModuleType) -> None:
    """Whatever the array is of; infinities that are given are meant."""
    patterns = host.arrays.patterns
    assert patterns(np.array([1, -2], ">i4"), "BF16").tolist() == [0x3F80, 0xC000]
    assert patterns(np.array([0x3F80], ">u2"), "BF16").tolist() == [0x3F80]
    assert patterns([np.inf, -np.inf, np.nan], "BF16").tolist() == [0x7F80, 0xFF80, 0x7FC0]
    assert patterns([True, 3.0, -128], "INT8").tolist() == [1, 3, -128]
    assert patterns([[0, 1.0]], "BOOL").tolist() == [[0, 1]]
    assert patterns(np.array([1.5], ml_dtypes.float8_e5m2), "BF16").tolist() == [0x3FC0]
    assert patterns(np.array([1.5], ml_dtypes.bfloat16), "FP32").tolist() == [1.5]
    assert patterns(2.0, "FP16") == np.float16(2)
    half = 1 + 2.0**-8
    assert patterns(np.array([-128, 127], np.int8), "BF16").tolist() == [0xC300, 0x42FE]
    once = [half, half + 2.0**-40, half - 2.0**-40, -half - 2.0**-40, 3 * 2.0**-7 + 2.0**-15 - 2.0**-40]
    assert patterns(once, "BF16").tolist() == [0x3F80, 0x3F81, 0x3F80, 0xBF81, 0x3CC0]


PAIR = {
    "name": "pairs",
    "extents": [None],
    "rows": True,
    "parts": [(1, 2, "INT8"), (0, 3, "INT8"), (0, 1, "INT8"), (1, 4, "SELECTOR")],
}


def pair(rows: int, others: int) -> tuple[Any, ...]:
    return np.ones((1, 2)), np.ones((rows, 3)), np.ones((others, 1)), [0, 1, 0, 0]


def test_elements_with_rows_of_their_own(host: ModuleType) -> None:
    values, lengths = host.arrays.flattened([pair(2, 2), pair(0, 0)], PAIR)
    assert (len(values), lengths) == (2 * (2 + 4) + 8, (2, 2, 0))
    for element, message in (
        (pair(2, 3), "an element of pairs must have one number of rows, not 2 and 3"),
        (pair(2, 2)[:3], "an element of pairs must be a tuple of 4 arrays, not 3"),
        (np.ones((4, 1, 1)), "an element of pairs must be a tuple of 4 arrays, not ndarray"),
        ((*pair(2, 2)[:3], [0, 1]), "an element of pairs must have shape [4], not [2]"),
        (
            (np.ones((1, 2)), np.ones((2, 4)), *pair(2, 2)[2:]),
            "an element of pairs must have shape [rows, 3], not [2, 4]",
        ),
    ):
        with raising(host.BoardError, message):
            host.arrays.flattened([element], PAIR)
    scalar = {"name": "at", "extents": [2], "rows": False, "parts": [(1, 1, "UINT32")]}
    assert host.arrays.flattened([1, np.array([[2]])], scalar) == (bytes([1, 0, 0, 0, 2, 0, 0, 0]), ())


def test_files_that_are_mapped(directory: Path, folder: Folder, tmp_path: Path) -> None:
    """As a command, with nothing of this project."""
    registers, memory = tmp_path / "registers", tmp_path / "memory"
    board = Memory(folder, b"")
    words = np.zeros(1024, "<u4")
    for offset, value in board.words.items():
        words[offset // 4] = value
    registers.write_bytes(words.tobytes())
    there = np.memmap(registers, "<u4", "r+")

    def end() -> None:
        while there[board.registers["control"] // 4] != 1:
            time.sleep(0.001)
        there[board.registers["status"] // 4] = 1 << 16 | 1

    threading.Thread(target=end, daemon=True).start()
    memory.write_bytes(bytes(folder.places[-1].end - board.base))
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(directory)!r}); "
               "import runpy; runpy.run_module('host', run_name='__main__')"]  # fmt: skip
    done = subprocess.run([*command, registers, memory, "--memory-offset=0"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: y is wrong from its byte 1 on\n"  # as there is nobody who writes it
    assert memory.read_bytes() == (directory / "data" / "memory.bin").read_bytes()
    assert np.frombuffer(registers.read_bytes(), "<u4")[board.registers["control"] // 4] == 1
    done = subprocess.run([*command, registers, tmp_path / "none"], capture_output=True, text=True)
    size, base = folder.places[-1].end - board.base, board.base
    wanted = f"{size:,} bytes from {base:#x} on are wanted"
    assert done.stderr == f"error: memory file '{tmp_path}/none': {wanted}: No such file or directory\n"
    done = subprocess.run([*command, registers, memory, "--base=here"], capture_output=True, text=True)
    assert done.stderr.endswith(": error: argument --base: invalid address value: 'here'\n")
