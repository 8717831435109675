"""The host in Python that a folder brings runs boards without this project, and has its bits."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cases import cases
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


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Folder, ModuleType]:
    return written(moved(), tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="module")
def directory(small: tuple[Path, Folder, ModuleType]) -> Path:
    return small[0]


@pytest.fixture(scope="module")
def folder(small: tuple[Path, Folder, ModuleType]) -> Folder:
    return small[1]


@pytest.fixture(scope="module")
def host(small: tuple[Path, Folder, ModuleType]) -> ModuleType:
    return small[2]


@pytest.fixture(scope="module")
def refusing(folder: Folder, host: ModuleType) -> Any:
    """A board that is never started."""
    return host.Driver(Memory(folder, b""))


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


@cases(
    ({"x": None}, "inputs must be x, s, not s"),
    ({"z": 1}, "inputs must be x, s, not x, s, z"),
    ({"x": np.zeros((4, 16))}, "x must have shape [8, 16], not [4, 16]"),
    ({"s": [[]]}, "s must have 2 entries here, not 1"),
    ({"s": [[], [np.zeros((2, 4))]]}, "an element of s must have shape [1, 4], not [2, 4]"),
    ({"s": [[], [np.zeros((4, 1))]]}, "an element of s must have shape [1, 4], not [4, 1]"),
    ({"s": [[], [np.zeros(4)]]}, "an element of s must have shape [1, 4], not [4]"),
    ({"s": [[], [np.zeros((1, 5))]]}, "an element of s must have shape [1, 4], not [1, 5]"),
    ({"s": [[], 3]}, "s must be 2 lists in each other; there is 3 for one"),
    ({"s": [[], [[["a"]]]]}, "an element of s: BF16 is given as numbers, not as <U1"),
    ({"s": [[], [[[1], [2, 3]]]]}, None),
    ({"x": np.full((8, 16), 1e39)}, "x at [0, 0] is 1e+39, which BF16 does not have"),
    ({"x": np.zeros((8, 16), complex)}, "x: BF16 is given as numbers, not as complex128"),
    ({"x": np.ma.masked_array(np.zeros((8, 16)), np.eye(8, 16))},
     "x is masked, and no number stands for that: give array.filled(NUMBER)"),
    ({"s": [[np.zeros((1, 4))] * 600, []]}, "s: too little room, or beyond the address space"),
)  # fmt: skip
def test_inputs_that_do_not_fit(change: dict[str, Any], message: str | None, host: ModuleType, refusing: Any) -> None:
    with pytest.raises(host.BoardError) as caught:
        refusing.run({name: each for name, each in {**data(0), **change}.items() if each is not None})
    assert str(caught.value) == message or (
        message is None and str(caught.value).startswith("an element of s is no array: ")
    )


@cases(
    ([[3, 300]], "INT8", "data at [0, 1] is 300, which INT8 does not have"),
    (np.array([200], np.uint8), "INT8", "data at [0] is 200, which INT8 does not have"),
    ([1.5], "INT32", "data at [0] is 1.5, which INT32 does not have"),
    ([-1], "UINT32", "data at [0] is -1, which UINT32 does not have"),
    (np.nan, "INT32", "data is nan, which INT32 does not have"),
    ([1 << 32], "UINT32", "data at [0] is 4294967296, which UINT32 does not have"),
    ([1, 2], "BOOL", "data at [1] is 2, which BOOL does not have"),
    (np.array([0, 3], np.uint8), "SELECTOR", "data at [1] is 3, which SELECTOR does not have"),
    ([1e39], "FP32", "data at [0] is 1e+39, which FP32 does not have"),
    ([65520], "FP16", "data at [0] is 65520, which FP16 does not have"),
    (np.zeros(1, ml_dtypes.float8_e5m2), "FP8_E4M3",
     "data: FP8_E4M3 is given as patterns (uint8), or of ml_dtypes, not as float8_e5m2"),
    ([1.0], "FP8_E5M2", "data: FP8_E5M2 is given as patterns (uint8), or of ml_dtypes, not as float64"),
    (np.zeros(1, ml_dtypes.int4), "INT8", "data: INT8 is given as numbers, not as int4"),
)  # fmt: skip
def test_numbers_that_a_format_does_not_have(given: Any, dtype: str, message: str, host: ModuleType) -> None:
    with raising(host.BoardError, message):
        host.arrays.patterns(given, dtype)


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


class Failing(Memory):
    """Raises what it is told in the transfers of this kind."""

    fails = ""

    def _fail(self, kind: str) -> None:
        if self.fails == kind:
            raise ConnectionError(f"no {kind}")

    def read32(self, offset: int) -> int:
        self._fail("read32")
        return super().read32(offset)

    def write32(self, offset: int, value: int) -> None:
        self._fail("write32")
        super().write32(offset, value)

    def read(self, address: int, size: int) -> bytes:
        self._fail("read")
        return super().read(address, size)

    def write(self, address: int, data: bytes) -> None:
        self._fail("write")
        super().write(address, data)

    def wait(self) -> None:
        self._fail("wait")
        self.words[self.registers["status"]] = 1


@cases(
    ("read32", "cycles"), ("read32", "start"), ("write32", "start"), ("write", "start"), ("read32", "wait"),
    ("wait", "wait"), ("read", "wait"), ("read32", "run"), ("write", "run"), ("read", "check"), ("read32", "done"),
)  # fmt: skip
def test_errors_of_the_transport(kind: str, does: str, directory: Path, folder: Folder, host: ModuleType) -> None:
    """They come out where they happen, and nothing of them is left."""
    left = (directory / "data" / "expected.bin").read_bytes()
    transport = Failing(folder, left)
    board = host.Driver(transport)
    transport.words[folder.tables.addresses["cycles_low"]] = 77
    run = board.start(data(0)) if does in ("wait", "done") else None
    if run is not None:
        transport.status(4 if kind == "wait" else 1)
    written = dict(transport.words)
    transport.fails = kind

    def act() -> Any:
        if does in ("cycles", "done"):
            return getattr(run or board, does)
        return getattr(run or board, does)(*[data(1)] * (does in ("run", "start")))

    with pytest.raises(ConnectionError, match=rf"^no {kind}$"):
        act()
    if kind != "read":
        assert transport.words == written  # nothing is started behind an error
    transport.fails = ""
    transport.status(1)
    if run is not None:
        assert list(run.wait()) == ["y", "t"]
    assert board.cycles == 77
    board.check()
    assert list(board.run(data(0))) == ["y", "t"]


def test_a_fault_that_can_not_be_read(folder: Folder, host: ModuleType) -> None:
    transport = Failing(folder, b"")
    transport.fails = "read32"
    with pytest.raises(ConnectionError, match=r"^no read32$"):
        host.Driver(transport)
    transport.fails = ""
    board = host.Driver(transport)
    run = board.start(data(0))
    transport.words |= {transport.registers["status"]: 16, transport.registers["fault"]: 13}
    transport.fails = "write32"  # the reset behind it
    with pytest.raises(ConnectionError, match=r"^no write32$"):
        run.wait()
    transport.fails = ""
    for _ in range(2):
        with pytest.raises(host.BoardError, match=r"^nothing moved for as many cycles as the watchdog allows$"):
            run.wait()


def test_an_error_belongs_to_its_thread(folder: Folder, host: ModuleType) -> None:
    asked, told = threading.Event(), threading.Event()

    class Slow(Memory):
        def read32(self, offset: int) -> int:
            if threading.current_thread().name == "slow":
                asked.set()
                assert told.wait(60)
                raise ConnectionError("no cable")
            return super().read32(offset)

    board, found = host.Driver(Slow(folder, b"")), list[BaseException]()

    def slowly() -> None:
        try:
            _ = board.cycles
        except ConnectionError as error:
            found.append(error)

    thread = threading.Thread(target=slowly, name="slow")
    thread.start()
    assert asked.wait(60)
    assert board.cycles == 0
    told.set()
    thread.join()
    assert board.cycles == 0 and [str(each) for each in found] == ["no cable"]


@cases(
    (1 << 32, "BoardError", "register 0x0 must be read as 32 bits, not as 0x100000000"),
    (None, "TypeError", "'NoneType' object cannot be interpreted as an integer"),
)
def test_answers_that_are_none(answer: Any, error: str, message: str, folder: Folder, host: ModuleType) -> None:
    transport = Memory(folder, b"")
    transport.words[0] = answer
    with pytest.raises(Exception) as caught:
        host.Driver(transport)
    assert (type(caught.value).__name__, str(caught.value)) == (error, message)
    transport.words[0] = np.uint32(0x53544550)  # a number as NumPy has it
    assert host.Driver(transport).cycles == 0


def test_memory_that_comes_short(folder: Folder, host: ModuleType) -> None:
    class Short(Memory):
        def read(self, address: int, size: int) -> bytes:
            return super().read(address, size)[1:]

    run = host.Driver(Short(folder, b"")).start(data(0))
    with raising(host.BoardError, f"256 bytes were to be read from {folder.places[3].address:#x} on, and 255 came"):
        run.wait()


def test_files_of_the_folder_that_were_changed(
    directory: Path, folder: Folder, host: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(directory, tmp_path / "board")
    monkeypatch.setattr(host.folder, "FOLDER", tmp_path / "board")
    size = folder.places[-1].end - folder.places[0].address
    for name in ("expected", "memory"):
        file = tmp_path / "board" / "data" / f"{name}.bin"
        file.write_bytes(file.read_bytes()[:-1])
        with raising(host.BoardError, f"data/{name}.bin has {size - 1:,} bytes, not the {size:,} of data/memory.json"):
            host.Driver(Memory(folder, bytes(size))).check()
    file = tmp_path / "board" / "data" / "memory.json"
    told = json.loads(file.read_text())
    names = [each["name"] for each in told["images"]]
    for change, message in (
        (
            {"images": [{**told["images"][0], "bytes": 64}, *told["images"][1:]]},
            "load at 0x80000000: too little room, or beyond the address space",
        ),
        ({"images": told["images"][:1]}, "data/memory.json has no image 'y', which the board has"),
    ):
        file.write_text(json.dumps({**told, **change}))
        with pytest.raises(host.BoardError) as caught:
            host.Driver(Memory(folder, bytes(size)))
        assert str(caught.value) == message, names
    file.write_text("{")
    with pytest.raises(host.BoardError, match=r"^data/memory\.json is not as it was written: "):
        host.Driver(Memory(folder, b""))


def test_another_board_and_a_missing_compiler(
    folder: Folder, host: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Memory(folder, b"")
    other.words.clear()
    with raising(host.BoardError, "board: the registers of something else"):
        host.Driver(other)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with raising(host.BoardError, "there is no C compiler: install gcc, or name another one in the variable CC"):
        host.Driver(Memory(folder, b""))


def test_files_that_are_mapped(directory: Path, folder: Folder, tmp_path: Path) -> None:
    """As a command, with nothing of this project."""
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
    size, base = folder.places[-1].end - board.base, board.base
    wanted = f"{size:,} bytes from {base:#x} on are wanted"
    assert done.stderr == f"error: memory file '{tmp_path}/none': {wanted}: No such file or directory\n"


def test_files_that_can_not_be_mapped(folder: Folder, host: ModuleType, tmp_path: Path) -> None:
    base, size = folder.places[0].address, folder.places[-1].end - folder.places[0].address
    files = {name: str(tmp_path / name) for name in ("none", "empty", "short", "page", "memory")}
    for name, length in (("empty", 0), ("short", 100), ("page", 4096), ("memory", size)):
        Path(files[name]).write_bytes(bytes(length))
    files["folder"] = str(tmp_path)

    multiple = "must be a multiple of 4,096"

    def registers(name: str) -> str:
        return f"register file {files[name]!r}: 4,096 bytes from"

    def memory(name: str, offset: int = 0) -> str:
        return f"memory file {files[name]!r}: {size:,} bytes from {offset:#x} on are wanted"

    for one, other, where, message in (
        ("none", "memory", {}, f"{registers('none')} 0x0 on are wanted: No such file or directory"),
        ("empty", "memory", {}, f"{registers('empty')} 0x0 on are wanted, but it has 0 bytes"),
        ("short", "memory", {}, f"{registers('short')} 0x0 on are wanted, but it has 100 bytes"),
        ("folder", "memory", {}, f"{registers('folder')} 0x0 on are wanted: Is a directory"),
        ("page", "memory", {"register_offset": 4},
         f"{registers('page')} 0x4 on are wanted, but register_offset {multiple}"),
        ("page", "memory", {"register_offset": 4096},
         f"{registers('page')} 0x1000 on are wanted, but it has 4,096 bytes"),
        ("page", "none", {}, f"{memory('none')}: No such file or directory"),
        ("page", "empty", {}, f"{memory('empty')}, but it has 0 bytes"),
        ("page", "page", {}, f"{memory('page')}, but it has 4,096 bytes"),
        ("page", "memory", {"memory_offset": 8}, f"{memory('memory', 8)}, but memory_offset {multiple}"),
        ("page", "memory", {"memory_offset": -4096}, f"{memory('memory', -4096)}, but memory_offset {multiple}"),
        ("page", "memory", {"memory_offset": 4096}, f"{memory('memory', 4096)}, but it has {size:,} bytes"),
        ("page", "memory", {"memory_offset": None}, f"{memory('memory', base)}, but it has {size:,} bytes"),
    ):  # fmt: skip
        with raising(host.BoardError, message):
            host.MappedFiles(files[one], files[other], **{"memory_offset": 0, **where})
    with pytest.raises(host.BoardError) as caught:  # a device, which has no memory
        host.MappedFiles(files["page"], "/dev/null", memory_offset=0)
    assert str(caught.value).startswith(f"memory file '/dev/null': {size:,} bytes from 0x0 on are wanted: ")
    mapped = host.MappedFiles(files["page"], files["memory"], memory_offset=0)
    mapped.write(base + size - 64, bytes(range(64)))
    assert mapped.read(base + size - 64, 64) == bytes(range(64)) == mapped.view(base + size - 64, 64).tobytes()
    for address, count in ((base - 4096, 64), (base + size - 64, 128)):
        told = f"{count} bytes from address {address:#x} on are not in the memory that is mapped"
        for call in (lambda: mapped.read(address, count), lambda: mapped.write(address, bytes(count))):  # noqa: B023
            with raising(host.BoardError, f"{told}: {size:,} bytes from {base:#x} on"):
                call()
