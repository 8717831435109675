"""Runs in flight, and their buffers."""

from __future__ import annotations

import ctypes
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import PATTERNS, nested, numbers
from .calls import DriverCalls
from .errors import BoardError
from .transport import LINE, Transport

if TYPE_CHECKING:
    from .board import Driver


class RunBuffers:
    """Places of images for one run at a time: at ``address`` of the bus, and in ``memory`` of this process.

    ``shared``: images that have their places in other buffers.
    """

    def __init__(
        self,
        calls: DriverCalls,
        number: int,
        transport: Transport,
        address: int,
        images: list[Any],
        shared: dict[str, Any],
    ) -> None:
        self._calls, self.places = calls, dict(shared)
        self._written = dict[str, bytes]()
        own = [each for each in images if each["name"] not in shared]
        self.size = sum(each["bytes"] for each in own)
        self.address = transport.reserve(self.size, address)
        if self.address % LINE:
            raise BoardError(f"base {self.address:#x}: it must be a multiple of {LINE}")
        self.memory = ctypes.create_string_buffer(self.size)
        at = 0
        for each in own:
            self.places[each["name"]] = self.address + at, ctypes.addressof(self.memory) + at, each["bytes"]
            at += each["bytes"]
        self.board = ctypes.c_void_p(calls("host_board", number))
        calls.check("board", "host_open", number)
        for index, each in enumerate(images):
            self.place(index, each["name"], self.places[each["name"]])

    def place(self, index: int, name: str, place: tuple[int, int, int]) -> None:
        """Put an image at an address of the bus and of this process, with so many bytes."""
        self.places[name] = place
        address, data, size = place
        given = ctypes.c_uint64(address), ctypes.c_void_p(data), ctypes.c_size_t(size)
        self._calls.check(f"{name} at {address:#x}", "step_board_place", self.board, index, *given)

    def put(self, kind: str, number: int, name: str, values: bytes, lengths: tuple[int, ...]) -> None:
        """Write a tensor or a stream, unless it is what was written last."""
        digest = hashlib.blake2b(values)
        digest.update(repr(lengths).encode())
        if self._written.pop(name, None) != digest.digest():
            given: list[Any] = [self.board, number, values, ctypes.c_size_t(len(values))]
            if kind == "streams":
                given += [(ctypes.c_uint32 * max(1, len(lengths)))(*lengths), ctypes.c_size_t(len(lengths))]
            self._calls.check(name, f"step_write_{kind[:-1]}", *given)
        self._written[name] = digest.digest()

    def forget(self, names: list[str] | None = None) -> None:
        """Inputs that are not in memory any more: those of ``names``, or all."""
        for name in list(self._written) if names is None else names:
            self._written.pop(name, None)


class StartedRun:
    """A run that was started, or that waits for the one before it; `Driver.start` makes it.

    ``cycles``: of the run, once it is over.
    """

    cycles = 0

    def __init__(self, driver: Driver, buffers: RunBuffers) -> None:
        self.buffers, self.started, self.ended, self.dropped = buffers, False, False, False
        self.error: BaseException | None = None
        self.driver = driver
        self._outputs: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether the run is over. Looking starts the next run, where this one made room for it."""
        return self.driver.look(self)

    def wait(self, *, in_place: bool = False) -> dict[str, Any]:
        """Outputs by name, at the end of the run; raises `BoardError` for one that failed.

        ``in_place``: tensors are views of mapped memory, of patterns, as they lie there: those of more than one tile a
        matrix as [..., tiles down, tiles across, rows, columns]. Another run in the same buffers writes over them.
        Streams are copies.
        """
        while not self.done:
            self.driver.transport.wait()
        if self.dropped and self.error is None and self._outputs is None:
            raise BoardError("the run was dropped, and so are its outputs")
        if self.error is None and self._outputs is None:
            self._outputs = self.driver.outputs(self.buffers, in_place)
        self.driver.leave(self)
        if self.error is not None:
            raise self.error
        return self._outputs or {}

    def drop(self) -> None:
        """Do without the outputs: at the end of the run its buffers are free."""
        self.dropped = True
        if self.ended:
            self.driver.leave(self)


def read_tensor(calls: DriverCalls, buffers: RunBuffers, number: int, tensor: dict[str, Any]) -> np.ndarray:
    """A tensor that a run stored, as an array of its shape."""
    kind = np.dtype(PATTERNS[tensor["dtype"]])
    size = int(np.prod(tensor["shape"])) * kind.itemsize
    room = ctypes.create_string_buffer(max(1, size))
    calls.check(tensor["name"], "step_read_tensor", buffers.board, number, room, ctypes.c_size_t(size))
    return numbers(np.frombuffer(room.raw[:size], kind).reshape(tensor["shape"]), tensor["dtype"])


def view_tensor(transport: Transport, buffers: RunBuffers, tensor: dict[str, Any]) -> np.ndarray:
    """The same tensor as a view, in tiles."""
    if tensor["dtype"] == "BOOL":
        raise BoardError(f"{tensor['name']} is BOOL, whose bits have no view")
    (rows, columns), size, kind = tensor["tile"], tensor["tile_bytes"], np.dtype(PATTERNS[tensor["dtype"]])
    *others, height, width = tensor["shape"]
    down, across = height // rows, width // columns
    count = int(np.prod(others)) * down * across
    found = transport.view(buffers.places[tensor["images"][0]][0], -(-count * size // LINE) * LINE)
    tiles = found[: count * size].reshape(count, size)[:, : rows * columns * kind.itemsize]
    tiled = () if down == across == 1 else (down, across)
    return tiles.view(kind).reshape(*others, *tiled, rows, columns)


def read_stream(calls: DriverCalls, buffers: RunBuffers, number: int, stream: dict[str, Any]) -> Any:
    """A stream that came out, as nested lists."""
    name = stream["name"]
    # a BOOL, a bit in memory, is a byte
    room = 8 * buffers.places[f"{name}_values"][2] if stream["parts"] else 0
    values, words = (
        ctypes.create_string_buffer(room + 1),
        (ctypes.c_uint32 * (buffers.places[f"{name}_list"][2] // 4))(),
    )
    size, count = ctypes.c_size_t(room), ctypes.c_size_t(len(words))
    given = values, ctypes.byref(size), words, ctypes.byref(count)
    calls.check(name, "step_read_stream", buffers.board, number, *given)
    return nested(values.raw[: size.value], tuple(words[: count.value]), stream)
