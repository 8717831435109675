"""The interface of ways to a board."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import numpy as np

from .errors import BoardError

LINE = 64
"""Addresses and sizes of transfers are multiples of it: whole lines of caches, and aligned words of all buses."""


class Transport:
    """A way to a board: registers by their offset, memory by its address on the bus.

    A class of your own has ``read32``, ``write32``, ``read`` and ``write``; others may stay as they are.
    """

    interrupts = False
    """Whether `wait` returns at an interrupt, which the board then raises at the end of a run."""

    def read32(self, offset: int) -> int:
        """A register, in one access of 32 bits."""
        raise NotImplementedError

    def write32(self, offset: int, value: int) -> None:
        """Write a register, in one access of 32 bits."""
        raise NotImplementedError

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory; both numbers are multiples of `LINE`."""
        raise NotImplementedError

    def write(self, address: int, data: bytes) -> None:
        """Put bytes into memory, whose number and address are multiples of `LINE`."""
        raise NotImplementedError

    def reserve(self, size: int, address: int) -> int:
        """The address of ``size`` bytes for images, in place of ``address`` where somebody else allocates.

        It is called once, and again for the buffers of a second run in flight.
        """
        return address

    def view(self, address: int, size: int) -> np.ndarray:
        """Memory in place, as bytes (uint8) that the board has written; raises `BoardError` where none is mapped.

        NumPy reads them as it likes, which memory of devices on ARM does not allow: map it cached, or combining writes.
        """
        raise BoardError(f"{type(self).__name__} does not map memory, so outputs have no views")

    def wait(self) -> None:
        """While a run goes on, between two looks at its status."""
        time.sleep(0.0001)


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Errors of the system, or of somebody's library, as a `BoardError` about ``what``."""
    try:
        yield
    except (OSError, ValueError, OverflowError, RuntimeError, MemoryError) as error:
        raise BoardError(f"{what}: {getattr(error, 'strerror', None) or str(error) or type(error).__name__}") from None


def check_part(begin: int, size: int, room: int, base: int, what: str) -> None:
    """Raise `BoardError` for ``size`` bytes from ``begin`` on that are not in ``room``; ``base``: its address."""
    if begin < 0 or begin + size > room:
        raise BoardError(
            f"{size:,} bytes from address {base + begin:#x} on are not in {what}: {room:,} bytes from {base:#x} on"
        )
    if begin % LINE or size % LINE:
        raise BoardError(f"{size:,} bytes from address {base + begin:#x} on: both must be multiples of {LINE}")
