"""Runs of a board."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .arrays import PATTERNS, flattened, nested, numbers, patterns
from .driver import compiled
from .errors import BoardError
from .folder import FOLDER, memory_map, tables
from .transport import Transport

RUNNING = 1


class Board:
    """The board behind ``transport``; its images lie from ``base`` on, by default where ``memory.json`` has them."""

    def __init__(self, transport: Transport, *, base: int | None = None) -> None:
        self.transport, self._failed = transport, list[BaseException]()
        self._told, self._map = tables(), memory_map()
        self.base = self._map["base"] if base is None else base
        self._memory = ctypes.create_string_buffer(self._map["bytes"])
        self._driver = compiled(self._told["fabric"], len(self._map["images"]))
        for name in ("step_result_text", "step_fault_text"):
            getattr(self._driver, name).restype = ctypes.c_char_p
        self._driver.step_board_cycles.restype = ctypes.c_uint64
        self._driver.step_board_differs.restype = ctypes.c_size_t
        self._functions = {
            "host_read32": ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_size_t)(self._safely(transport.read32)),
            "host_write32": ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_uint32)(self._safely(transport.write32)),
            "host_before_run": ctypes.CFUNCTYPE(None)(
                self._safely(lambda: transport.write(self.base, self._memory.raw))
            ),
        }
        for name, function in self._functions.items():
            ctypes.c_void_p.in_dll(self._driver, name).value = ctypes.cast(function, ctypes.c_void_p).value
        self._board = ctypes.byref(ctypes.c_char.in_dll(self._driver, "host_board"))
        self._check(self._driver.host_open(), "board")
        place = self._driver.step_board_place_all
        size = ctypes.c_size_t(len(self._memory))
        self._check(place(self._board, ctypes.c_uint64(self.base), self._memory, size), f"base {self.base:#x}")

    @property
    def cycles(self) -> int:
        """Of the last run."""
        return int(self._driver.step_board_cycles(self._board))

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Run with ``inputs`` by name to the end; what came out, by name."""
        known = [each for each in self._told["tensors"] + self._told["streams"] if each["read"]]
        needed = {each["name"] for each in known if not each["stored"]}
        if not needed <= set(inputs) <= {each["name"] for each in known}:
            names = ", ".join(each["name"] for each in known)
            raise BoardError(f"inputs must be {names}, not {', '.join(inputs) or 'none'}")
        for tensor in self._told["tensors"]:
            if tensor["name"] in inputs:
                array = patterns(inputs[tensor["name"]], tensor["dtype"])
                if list(array.shape) != tensor["shape"]:
                    raise BoardError(f"{tensor['name']} must have shape {tensor['shape']}, not {list(array.shape)}")
                self.write(tensor["name"], array.tobytes())
        for stream in self._told["streams"]:
            if stream["read"]:
                self.write(stream["name"], *flattened(inputs[stream["name"]], stream))
        self.start()
        self.wait()
        found = {}
        for tensor in self._told["tensors"]:
            if tensor["stored"] and tensor["shape"][0]:
                (values, _), bits = self.read(tensor["name"]), PATTERNS[tensor["dtype"]]
                found[tensor["name"]] = numbers(np.frombuffer(values, bits).reshape(tensor["shape"]), tensor["dtype"])
        return found | {
            each["name"]: nested(*self.read(each["name"]), each) for each in self._told["streams"] if not each["read"]
        }

    def write(self, name: str, values: bytes, lengths: tuple[int, ...] = ()) -> None:
        """Put a tensor into memory, or a stream, as ``step_write_tensor`` and ``step_write_stream`` take it."""
        kind, number = self._number(name)
        size = ctypes.c_size_t(len(values))
        if kind == "tensors":
            result = self._driver.step_write_tensor(self._board, number, values, size)
        else:
            words, count = (ctypes.c_uint32 * max(1, len(lengths)))(*lengths), ctypes.c_size_t(len(lengths))
            result = self._driver.step_write_stream(self._board, number, values, size, words, count)
        self._check(result, name)

    def read(self, name: str) -> tuple[bytes, tuple[int, ...]]:
        """The values of a tensor or a stream after a run, and the lengths of the stream, as the driver gives them."""
        kind, number = self._number(name)
        if kind == "tensors":
            tensor = self._told["tensors"][number]
            bytes_ = int(np.prod(tensor["shape"])) * np.dtype(PATTERNS[tensor["dtype"]]).itemsize
            values = ctypes.create_string_buffer(max(1, bytes_))
            result = self._driver.step_read_tensor(self._board, number, values, ctypes.c_size_t(bytes_))
            self._check(result, name)
            return values.raw[:bytes_], ()
        places = {each["name"]: each["bytes"] for each in self._map["images"]}
        room = 8 * places.get(f"{name}_values", 0)  # a BOOL, a bit in memory, is a byte
        values, words = ctypes.create_string_buffer(room + 1), (ctypes.c_uint32 * (places[f"{name}_list"] // 4))()
        size, count = ctypes.c_size_t(room), ctypes.c_size_t(len(words))
        read = self._driver.step_read_stream
        result = read(self._board, number, values, ctypes.byref(size), words, ctypes.byref(count))
        self._check(result, name)
        return values.raw[: size.value], tuple(words[: count.value])

    def start(self) -> None:
        """Start a run on what was written."""
        self._check(self._driver.step_board_start(self._board), "start")

    def wait(self) -> None:
        """Until the run is over; raises `BoardError` for one that failed."""
        while (result := self._driver.step_board_poll(self._board)) == RUNNING:
            self._reraise()
            self.transport.wait()
        self._reraise()
        if result:
            raise BoardError(self._fault())
        self._memory.raw = self.transport.read(self.base, len(self._memory)).ljust(len(self._memory), b"\0")

    def check(self) -> None:
        """Run the program's own data, and compare what is left in memory; raises `BoardError` where it is not right."""
        data = FOLDER / "data"
        self._memory.raw = (data / "memory.bin").read_bytes()
        self.start()
        self.wait()
        expected, mask = ((data / f"{name}.bin").read_bytes() for name in ("expected", "mask"))
        size = len(self._memory)
        at = self._driver.step_board_differs(self._memory, expected, mask, ctypes.c_size_t(size))
        for image in self._map["images"]:
            place = at - (image["address"] - self._map["base"])
            if at < size and 0 <= place < image["bytes"]:
                raise BoardError(f"{image['name']} is wrong from its byte {place} on")

    def _number(self, name: str) -> tuple[str, int]:
        for kind in ("tensors", "streams"):
            for number, each in enumerate(self._told[kind]):
                if each["name"] == name:
                    return kind, number
        raise BoardError(f"there is no tensor and no stream {name!r}")

    def _safely(self, function: Any) -> Any:
        """``function`` for C, through which no exception passes: it is raised after the call."""

        def call(*arguments: int) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:
                self._failed.append(error)
                return 0

        return call

    def _reraise(self) -> None:
        if self._failed:
            raise self._failed.pop(0)

    def _check(self, result: int, what: str) -> None:
        self._reraise()
        if result:
            raise BoardError(f"{what}: {self._driver.step_result_text(result).decode()}")

    def _fault(self) -> str:
        class Fault(ctypes.Structure):
            _fields_ = (("code", ctypes.c_uint32), ("text", ctypes.c_char_p), ("where", ctypes.c_char_p),
                        ("address", ctypes.c_uint64), ("memory_waits", ctypes.c_int))  # fmt: skip

        fault = Fault()
        self._driver.step_board_fault(self._board, ctypes.byref(fault))
        self._driver.step_board_reset(self._board)
        where = f"{fault.where.decode()}: " if fault.where else ""
        address = f" (address {fault.address:#x})" if fault.address else ""
        waits = "; memory has not answered" if fault.memory_waits else ""
        return f"{where}{fault.text.decode()}{address}{waits}"
