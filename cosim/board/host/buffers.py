"""Boards whose memory a runtime allocates: PYNQ and XRT."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import BoardError
from .transport import Transport, check_part, told


class _Allocated(Transport):
    """Memory in buffers of a runtime, which says their addresses."""

    def __init__(self) -> None:
        self._buffers = list[tuple[int, int, Any]]()

    def _find(self, address: int, size: int) -> tuple[Any, int]:
        """The buffer with ``size`` bytes at ``address``, and their place in it."""
        for begin, room, buffer in self._buffers:
            if begin <= address < begin + room:
                check_part(address - begin, size, room, begin, "a buffer")
                return buffer, address - begin
        raise BoardError(f"{size:,} bytes from address {address:#x} on are not in a buffer")

    def read(self, address: int, size: int) -> bytes:
        return self.view(address, size).tobytes()


class Pynq(_Allocated):
    """A board under PYNQ: ``block`` is that of the overlay with the registers, ``allocate`` is ``pynq.allocate``.

        overlay = pynq.Overlay("board.bit")
        board = host.Driver(host.Pynq(overlay.fabric_NAME_board_0, pynq.allocate))

    Interrupts of PYNQ belong to asyncio; this class looks at the status. Tested against a stand-in with the calls
    ``read(offset)``, ``write(offset, value)``, ``device_address``, ``flush`` and ``invalidate`` of PYNQ 3.0.
    """

    def __init__(self, block: Any, allocate: Callable[..., Any]) -> None:
        super().__init__()
        self._block, self._allocate = block, allocate

    def read32(self, offset: int) -> int:
        with told(f"PYNQ: read of register {offset:#x}"):
            return int(self._block.read(offset))

    def write32(self, offset: int, value: int) -> None:
        with told(f"PYNQ: write of register {offset:#x}"):
            self._block.write(offset, int(value))

    def reserve(self, size: int, address: int) -> int:
        with told(f"PYNQ: a buffer of {size:,} bytes"):
            buffer = self._allocate(shape=(size,), dtype=np.uint8)
        self._buffers.append((int(buffer.device_address), size, buffer))
        return self._buffers[-1][0]

    def view(self, address: int, size: int) -> np.ndarray:
        buffer, begin = self._find(address, size)
        part = buffer[begin : begin + size]
        part.invalidate()
        return np.asarray(part)

    def write(self, address: int, data: bytes) -> None:
        buffer, begin = self._find(address, len(data))
        part = buffer[begin : begin + len(data)]
        part[:] = np.frombuffer(data, np.uint8)
        part.flush()


class Xrt(_Allocated):
    """A card under XRT, with pyxrt's buffers: ``device`` is a ``pyxrt.device`` with its xclbin loaded.

    ``registers`` is an object with ``read_register(offset)`` and ``write_register(offset, value)`` of the kernel, which
    is a user-managed one, as those of ``xrt::ip``. pyxrt has had none since XRT 2.15
    (https://github.com/Xilinx/XRT/issues/7863): a few lines of pybind11 on ``xrt::ip`` do, or `Pynq` on XRT.
    ``group``: the bank of memory. Tested against a stand-in for pyxrt's ``bo``.
    """

    def __init__(self, device: Any, registers: Any, *, group: int = 0) -> None:
        super().__init__()
        self._device, self._kernel, self._group = device, registers, group
        try:
            self._xrt = importlib.import_module("pyxrt")
        except ImportError as error:
            raise BoardError(f"pyxrt of XRT is not there ({error}): source /opt/xilinx/xrt/setup.sh") from None

    def read32(self, offset: int) -> int:
        with told(f"XRT: read of register {offset:#x}"):
            return int(self._kernel.read_register(offset))

    def write32(self, offset: int, value: int) -> None:
        with told(f"XRT: write of register {offset:#x}"):
            self._kernel.write_register(offset, int(value))

    def reserve(self, size: int, address: int) -> int:
        with told(f"XRT: a buffer of {size:,} bytes in group {self._group}"):
            buffer = self._xrt.bo(self._device, size, self._xrt.bo.flags.normal, self._group)
            self._buffers.append((int(buffer.address()), size, buffer))
        return self._buffers[-1][0]

    def view(self, address: int, size: int) -> np.ndarray:
        buffer, begin = self._find(address, size)
        with told(f"XRT: {size:,} bytes from address {address:#x} on"):
            buffer.sync(self._xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, size, begin)
            return np.frombuffer(buffer.map(), np.uint8)[begin : begin + size]

    def write(self, address: int, data: bytes) -> None:
        buffer, begin = self._find(address, len(data))
        with told(f"XRT: {len(data):,} bytes to address {address:#x}"):
            buffer.write(data, begin)
            buffer.sync(self._xrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, len(data), begin)
