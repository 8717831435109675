"""Ways to a board."""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import time

from .errors import BoardError
from .folder import memory_map, tables


class Transport:
    """A way to a board: ``registers`` by their offset, memory by its address on the bus."""

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


class MappedFiles(Transport):
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
        self._base, self._size = memory_map()["base"] if base is None else base, memory_map()["bytes"]
        pages = -(-(max(tables()["registers"].values()) + 4) // mmap.PAGESIZE)
        self._registers = self._map("register", registers, register_offset, pages * mmap.PAGESIZE)
        self._memory = self._map("memory", memory, self._base if memory_offset is None else memory_offset, self._size)

    @staticmethod
    def _map(what: str, name: str, offset: int, size: int) -> mmap.mmap:
        wanted = f"{what} file {name!r}: {size:,} bytes from {offset:#x} on are wanted"
        if offset < 0 or offset % mmap.ALLOCATIONGRANULARITY:
            raise BoardError(f"{wanted}, but {what}_offset must be a multiple of {mmap.ALLOCATIONGRANULARITY:,}")
        try:
            file = os.open(name, os.O_RDWR | os.O_SYNC)
        except OSError as error:
            raise BoardError(f"{wanted}: {error.strerror}") from None
        try:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and found.st_size < offset + size:  # a device does not say its size
                raise BoardError(f"{wanted}, but it has {found.st_size:,} bytes")
            return mmap.mmap(file, size, offset=offset)
        except (OSError, ValueError, OverflowError) as error:
            raise BoardError(f"{wanted}: {getattr(error, 'strerror', None) or error}") from None
        finally:
            os.close(file)

    def read32(self, offset: int) -> int:
        return ctypes.c_uint32.from_buffer(self._registers, offset).value  # one access of 32 bits

    def write32(self, offset: int, value: int) -> None:
        ctypes.c_uint32.from_buffer(self._registers, offset).value = value

    def read(self, address: int, size: int) -> bytes:
        return self._memory[self._part(address, size)]

    def write(self, address: int, data: bytes) -> None:
        self._memory[self._part(address, len(data))] = data

    def _part(self, address: int, size: int) -> slice:
        begin = address - self._base
        if begin < 0 or begin + size > self._size:
            raise BoardError(
                f"{size:,} bytes from address {address:#x} on are not in the memory that is mapped: "
                f"{self._size:,} bytes from {self._base:#x} on"
            )
        return slice(begin, begin + size)
