"""Calls of the driver in C, which reaches registers and memory through a transport."""

from __future__ import annotations

import ctypes
import operator
import threading
from typing import Any

from .driver import compiled
from .errors import BoardError
from .transport import LINE, Transport


class DriverCalls:
    """``calls(name, ...)`` is the driver's function of that name; raises what the transport raised inside of it."""

    def __init__(self, transport: Transport, fabric: str) -> None:
        self._transport, self._failed = transport, _Failed()
        self._driver = compiled(fabric)
        for name in ("step_result_text", "step_fault_text"):
            getattr(self._driver, name).restype = ctypes.c_char_p
        self._driver.host_board.restype = ctypes.c_void_p
        self._driver.step_board_cycles.restype = ctypes.c_uint64
        self._driver.step_board_differs.restype = ctypes.c_size_t
        moves = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)
        self._functions = {
            "host_read32": ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_size_t)(self._safely(self._read32)),
            "host_write32": ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_uint32)(self._safely(transport.write32)),
            "host_written": moves(self._safely(self._written)),
            "host_to_read": moves(self._safely(self._to_read)),
        }
        for name, function in self._functions.items():
            ctypes.c_void_p.in_dll(self._driver, name).value = ctypes.cast(function, ctypes.c_void_p).value

    def __call__(self, name: str, *arguments: Any) -> Any:
        self._failed.error = None
        result = getattr(self._driver, name)(*arguments)
        if self._failed.error is not None:
            error, self._failed.error = self._failed.error, None
            raise error
        return result

    def check(self, what: str, name: str, *arguments: Any) -> None:
        """Call a function that returns a result; raises `BoardError`, about ``what``, for one that is not right."""
        if result := self(name, *arguments):
            raise BoardError(f"{what}: {self._driver.step_result_text(result).decode()}")

    def _safely(self, function: Any) -> Any:
        """``function`` for C, through which no exception passes: it is raised behind, and no other one is called."""

        def call(*arguments: int) -> Any:
            if self._failed.error is None:
                try:
                    return function(*arguments)
                except BaseException as error:
                    self._failed.error = error
            return 0

        return call

    def _read32(self, offset: int) -> int:
        value = operator.index(self._transport.read32(offset))
        if not 0 <= value < 1 << 32:
            raise BoardError(f"register {offset:#x} must be read as 32 bits, not as {value:#x}")
        return value

    def _written(self, address: int, data: int, size: int) -> None:
        before, whole = _lines(address, size)
        self._transport.write(address - before, ctypes.string_at(data - before, whole))

    def _to_read(self, address: int, data: int, size: int) -> None:
        before, whole = _lines(address, size)
        ctypes.memmove(data - before, read_all(self._transport, address - before, whole), whole)


def read_all(transport: Transport, address: int, size: int) -> bytes:
    """``size`` bytes of memory; raises `BoardError` where others come."""
    found = transport.read(address, size)
    if len(found) != size:
        raise BoardError(f"{size:,} bytes were to be read from {address:#x} on, and {len(found):,} came")
    return found


def _lines(address: int, size: int) -> tuple[int, int]:
    """Bytes in front of ``address`` in its line, and those of all lines; images begin with a line, and end with one."""
    before = address % LINE
    return before, -(-(before + size) // LINE) * LINE


class _Failed(threading.local):
    """The error of the transport in a call of the driver, in this thread."""

    error: BaseException | None = None
