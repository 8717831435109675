"""What the host in Python that a folder brings refuses: inputs, folders, files, and errors of its transport."""

from __future__ import annotations

import json
import shutil
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

from board_hosts import Memory
from board_programs import data
from c_library import COMPILER

from cosim.board.folder import Folder

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def refusing(folder: Folder, host: ModuleType) -> Any:
    """A board that is never started."""
    return host.Driver(Memory(folder, b""))


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
        self.status(1)


@cases(
    ("read32", "start"), ("write32", "start"), ("write", "start"), ("read32", "wait"),
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
        if does == "done":
            return run.done
        return getattr(run or board, does)(*[data(1)] * (does in ("run", "start")))

    with pytest.raises(ConnectionError, match=rf"^no {kind}$"):
        act()
    if kind != "read":
        assert transport.words == written  # nothing is started behind an error
    transport.fails = ""
    transport.status(1)
    if run is not None:
        assert list(run.wait()) == ["y", "t"]
    board.check()
    assert list(board.run(data(0))) == ["y", "t"] and board.cycles == 77


def test_a_fault_that_can_not_be_read(folder: Folder, host: ModuleType) -> None:
    transport = Failing(folder, b"")
    transport.fails = "read32"
    with pytest.raises(ConnectionError, match=r"^no read32$"):
        host.Driver(transport)
    transport.fails = ""
    board = host.Driver(transport)
    run = board.start(data(0))
    transport.words[transport.registers["fault"]] = 13
    transport.status(16)
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

    slow = Slow(folder, b"")
    run, found = host.Driver(slow).start(data(0)), list[BaseException]()
    slow.status(4)

    def slowly() -> None:
        try:
            _ = run.done
        except ConnectionError as error:
            found.append(error)

    thread = threading.Thread(target=slowly, name="slow")
    thread.start()
    assert asked.wait(60)
    assert not run.done
    told.set()
    thread.join()
    assert not run.done and [str(each) for each in found] == ["no cable"]


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
