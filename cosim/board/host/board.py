"""Runs of a board."""

from __future__ import annotations

import ctypes
import operator
import threading
from typing import Any

import numpy as np

from .arrays import PATTERNS, flattened, nested, numbers, patterns
from .driver import compiled
from .errors import BoardError
from .folder import image, memory_map, tables
from .transport import Transport

RUNNING = 1


class Driver:
    """The board behind ``transport``; its images lie from ``base`` on, by default where ``memory.json`` has them."""

    def __init__(self, transport: Transport, *, base: int | None = None) -> None:
        self.transport, self._failed = transport, _Failed()
        self._told, self._map = tables(), memory_map()
        self.base = self._map["base"] if base is None else base
        if not isinstance(self.base, int) or not 0 <= self.base < 1 << 64:
            raise BoardError(f"base must be an address, an integer of 64 bits, not {self.base!r}")
        self._memory = ctypes.create_string_buffer(self._map["bytes"])
        self._driver = compiled(self._told["fabric"])
        for name in ("step_result_text", "step_fault_text"):
            getattr(self._driver, name).restype = ctypes.c_char_p
        self._driver.step_board_cycles.restype = ctypes.c_uint64
        self._driver.step_board_differs.restype = ctypes.c_size_t
        self._functions = {
            "host_read32": ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_size_t)(self._safely(_register(transport))),
            "host_write32": ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_uint32)(self._safely(transport.write32)),
            "host_before_run": ctypes.CFUNCTYPE(None)(
                self._safely(lambda: transport.write(self.base, self._memory.raw))
            ),
        }
        for name, function in self._functions.items():
            ctypes.c_void_p.in_dll(self._driver, name).value = ctypes.cast(function, ctypes.c_void_p).value
        self._board = ctypes.byref(ctypes.c_char.in_dll(self._driver, "host_board"))
        self._check(self._call("host_open"), "board")
        place = ctypes.c_uint64(self.base), self._memory, ctypes.c_size_t(len(self._memory))
        self._check(self._call("step_board_place_all", self._board, *place), f"base {self.base:#x}")

    @property
    def cycles(self) -> int:
        """Cycles of the last run."""
        return int(self._call("step_board_cycles", self._board))

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Run with ``inputs`` by name to the end; what came out, by name.

        A tensor that the program stores may be left out: it begins as the last run left it, or as zeros.
        """
        known = [each for each in self._told["tensors"] + self._told["streams"] if each["read"]]
        needed = {each["name"] for each in known if not each["stored"]}
        if not needed <= set(inputs) <= {each["name"] for each in known}:
            names = ", ".join(each["name"] for each in known)
            raise BoardError(f"inputs must be {names}, not {', '.join(inputs) or 'none'}")
        given = dict[str, Any]()  # all of it is looked at before any of it is written
        for tensor in self._told["tensors"]:
            if tensor["name"] in inputs:
                array = patterns(inputs[tensor["name"]], tensor["dtype"], tensor["name"])
                if list(array.shape) != tensor["shape"]:
                    raise BoardError(f"{tensor['name']} must have shape {tensor['shape']}, not {list(array.shape)}")
                given[tensor["name"]] = (array.tobytes(),)
        for stream in self._told["streams"]:
            if stream["read"]:
                given[stream["name"]] = flattened(inputs[stream["name"]], stream)
        for name, values in given.items():
            self.write(name, *values)
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
        if lengths and kind == "tensors":
            raise BoardError(f"{name} is a tensor, which has no lengths")
        if not all(0 <= each < 1 << 32 for each in lengths):
            raise BoardError(f"{name}: lengths must be >= 0 and have 32 bits, not {max(lengths, key=abs)}")
        given = self._board, number, values, ctypes.c_size_t(len(values))
        if kind == "tensors":
            result = self._call("step_write_tensor", *given)
        else:
            words, count = (ctypes.c_uint32 * max(1, len(lengths)))(*lengths), ctypes.c_size_t(len(lengths))
            result = self._call("step_write_stream", *given, words, count)
        self._check(result, name)

    def read(self, name: str) -> tuple[bytes, tuple[int, ...]]:
        """The values of a tensor or a stream after a run, and the lengths of the stream, as the driver gives them."""
        kind, number = self._number(name)
        if kind == "tensors":
            tensor = self._told["tensors"][number]
            if not tensor["shape"][0]:
                raise BoardError(f"{name} is stored in any number of tiles, and a board does not say in how many")
            bytes_ = int(np.prod(tensor["shape"])) * np.dtype(PATTERNS[tensor["dtype"]]).itemsize
            values = ctypes.create_string_buffer(max(1, bytes_))
            result = self._call("step_read_tensor", self._board, number, values, ctypes.c_size_t(bytes_))
            self._check(result, name)
            return values.raw[:bytes_], ()
        if self._told["streams"][number]["read"]:
            raise BoardError(f"{name} is an input, which a run leaves as it is")
        # a BOOL, a bit in memory, is a byte
        room = 8 * self._bytes(f"{name}_values") if self._told["streams"][number]["parts"] else 0
        values, words = ctypes.create_string_buffer(room + 1), (ctypes.c_uint32 * (self._bytes(f"{name}_list") // 4))()
        size, count = ctypes.c_size_t(room), ctypes.c_size_t(len(words))
        result = self._call(
            "step_read_stream", self._board, number, values, ctypes.byref(size), words, ctypes.byref(count)
        )
        self._check(result, name)
        return values.raw[: size.value], tuple(words[: count.value])

    def start(self) -> None:
        """Start a run on what was written."""
        self._check(self._call("step_board_start", self._board), "start")

    def wait(self) -> None:
        """Until the run is over; raises `BoardError` for one that failed."""
        while (result := self._call("step_board_poll", self._board)) == RUNNING:
            self.transport.wait()
        if result:
            raise BoardError(self._fault())
        left = self.transport.read(self.base, len(self._memory))
        if len(left) != len(self._memory):
            raise BoardError(
                f"{len(self._memory):,} bytes were to be read from {self.base:#x} on, and {len(left):,} came"
            )
        self._memory.raw = left

    def check(self) -> None:
        """Run the program's own data, and compare what is left in memory; raises `BoardError` where it is not right."""
        self._memory.raw = image("memory")
        self.start()
        self.wait()
        expected, mask, size = image("expected"), image("mask"), len(self._memory)
        at = self._call("step_board_differs", self._memory, expected, mask, ctypes.c_size_t(size))
        for each in self._map["images"]:
            place = at - (each["address"] - self._map["base"])
            if at < size and 0 <= place < each["bytes"]:
                raise BoardError(f"{each['name']} is wrong from its byte {place} on")

    def _number(self, name: str) -> tuple[str, int]:
        for kind in ("tensors", "streams"):
            for number, each in enumerate(self._told[kind]):
                if each["name"] == name:
                    return kind, number
        raise BoardError(f"there is no tensor and no stream {name!r}")

    def _bytes(self, image: str) -> int:
        for each in self._map["images"]:
            if each["name"] == image:
                return int(each["bytes"])
        raise BoardError(f"data/memory.json has no image {image!r}, which the board has")

    def _safely(self, function: Any) -> Any:
        """``function`` for C, through which no exception passes: `_call` raises it, and calls no other one before."""

        def call(*arguments: int) -> Any:
            if self._failed.error is None:
                try:
                    return function(*arguments)
                except BaseException as error:
                    self._failed.error = error
            return 0

        return call

    def _call(self, name: str, *arguments: Any) -> Any:
        """The result of the driver's function ``name``; raises what the transport raised inside of it."""
        self._failed.error = None
        result = getattr(self._driver, name)(*arguments)
        if self._failed.error is not None:
            error, self._failed.error = self._failed.error, None
            raise error
        return result

    def _check(self, result: int, what: str) -> None:
        if result:
            raise BoardError(f"{what}: {self._driver.step_result_text(result).decode()}")

    def _fault(self) -> str:
        class Fault(ctypes.Structure):
            _fields_ = (("code", ctypes.c_uint32), ("text", ctypes.c_char_p), ("where", ctypes.c_char_p),
                        ("address", ctypes.c_uint64), ("memory_waits", ctypes.c_int))  # fmt: skip

        fault = Fault()
        self._call("step_board_fault", self._board, ctypes.byref(fault))
        self._call("step_board_reset", self._board)
        where = f"{fault.where.decode()}: " if fault.where else ""
        address = f" (address {fault.address:#x})" if fault.address else ""
        waits = "; memory has not answered" if fault.memory_waits else ""
        return f"{where}{fault.text.decode()}{address}{waits}"


class _Failed(threading.local):
    """The error of the transport in a call of the driver, in this thread."""

    error: BaseException | None = None


def _register(transport: Transport) -> Any:
    """``read32`` of ``transport``, whose answers are 32 bits."""

    def read32(offset: int) -> int:
        value = operator.index(transport.read32(offset))
        if not 0 <= value < 1 << 32:
            raise BoardError(f"register {offset:#x} must be read as 32 bits, not as {value:#x}")
        return value

    return read32
