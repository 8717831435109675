"""How a board is reached."""

from __future__ import annotations

import ctypes
import mmap
import os
import time

from .folder import memory_map


class Transport:
    """How a board is reached: ``registers`` by their offset, memory by its address on the bus."""

    def read32(self, offset: int) -> int:
        raise NotImplementedError

    def write32(self, offset: int, value: int) -> None:
        raise NotImplementedError

    def read(self, address: int, size: int) -> bytes:
        raise NotImplementedError

    def write(self, address: int, data: bytes) -> None:
        raise NotImplementedError

    def wait(self) -> None:
        """While a run goes on, between two looks at its status."""
        time.sleep(0.0001)


class Mapped(Transport):
    """Files that the kernel maps: /dev/uioN or /dev/mem of a Zynq, /sys/bus/pci/devices/.../resourceN of a PCIe card.

    ``registers`` and ``memory`` are files. The registers are at ``register_offset`` of theirs. Address ``base`` of the
    bus is at ``memory_offset`` of the memory, which is ``base`` itself by default, as in /dev/mem. Memory has to be
    coherent with the board: reserved, or mapped without a cache (``O_SYNC``, which is given).
    """

    def __init__(
        self,
        registers: str,
        memory: str,
        *,
        register_offset: int = 0,
        base: int | None = None,
        memory_offset: int | None = None,
    ) -> None:
        self._base, size = memory_map()["base"] if base is None else base, memory_map()["bytes"]
        self._registers = self._map(registers, register_offset, mmap.PAGESIZE)
        self._memory = self._map(memory, self._base if memory_offset is None else memory_offset, size)

    @staticmethod
    def _map(name: str, offset: int, size: int) -> mmap.mmap:
        file = os.open(name, os.O_RDWR | os.O_SYNC)
        try:
            return mmap.mmap(file, size, offset=offset)
        finally:
            os.close(file)

    def read32(self, offset: int) -> int:
        return ctypes.c_uint32.from_buffer(self._registers, offset).value  # one access of 32 bits

    def write32(self, offset: int, value: int) -> None:
        ctypes.c_uint32.from_buffer(self._registers, offset).value = value

    def read(self, address: int, size: int) -> bytes:
        return self._memory[address - self._base : address - self._base + size]

    def write(self, address: int, data: bytes) -> None:
        self._memory[address - self._base : address - self._base + len(data)] = data
