"""Cards on PCIe whose kernel drivers move data."""

from __future__ import annotations

import fcntl
import os
import struct

from .mapped import Events, MappedRegisters, MappedWindow
from .transport import Transport, told


class Xdma(MappedRegisters):
    """A card behind AMD's DMA/Bridge Subsystem (PG195) and its driver XDMA: ``card`` and ``channel`` name its devices.

    ``CARD_user`` is AXI4-Lite with the registers at ``register_offset``, ``CARD_h2c_N`` and ``CARD_c2h_N`` move data to
    and from addresses of the bus, and ``CARD_events_M`` tells ``interrupt`` M; None looks at the status instead.
    Tested against files in the place of its devices.
    """

    def __init__(
        self, card: str = "/dev/xdma0", *, channel: int = 0, register_offset: int = 0, interrupt: int | None = None
    ) -> None:
        window = MappedWindow.of_registers(f"{card}_user", register_offset)
        super().__init__(window, None if interrupt is None else Events(f"{card}_events_{interrupt}"))
        self._names = f"{card}_h2c_{channel}", f"{card}_c2h_{channel}"
        self._files = []
        for name, mode in zip(self._names, (os.O_WRONLY, os.O_RDONLY), strict=True):
            with told(f"memory file {name!r}"):
                self._files.append(os.open(name, mode))

    def read(self, address: int, size: int) -> bytes:
        found = bytearray()
        with told(f"memory file {self._names[1]!r}: {size:,} bytes from {address:#x} on are wanted"):
            while len(found) < size:
                part = os.pread(self._files[1], size - len(found), address + len(found))
                if not part:
                    raise ValueError(f"{len(found):,} came")
                found += part
        return bytes(found)

    def write(self, address: int, data: bytes) -> None:
        left = memoryview(data)
        with told(f"memory file {self._names[0]!r}: {len(data):,} bytes are to be at {address:#x}"):
            while left:
                taken = os.pwrite(self._files[0], left, address + len(data) - len(left))
                if not taken:
                    raise ValueError(f"{len(data) - len(left):,} went")
                left = left[taken:]


class LitePcie(Transport):
    """A LiteX system behind LitePCIe: ``device`` of its kernel driver, and the address ``registers`` on its bus.

    That driver reaches words of the bus through BAR0, and has DMA for streams only; so memory, too, is reached word by
    word (some MB/s), where BAR0 covers it. A LiteX system whose BAR covers all memory is faster with `MappedFiles`.
    https://github.com/enjoy-digital/litepcie has the request, ``LITEPCIE_IOCTL_REG``. Tested against a stand-in for it.
    """

    REQUEST = 3 << 30 | 12 << 16 | ord("S") << 8
    WORD = struct.Struct("<IIB3x")

    def __init__(self, device: str = "/dev/litepcie0", *, registers: int) -> None:
        self._device, self._registers = device, registers
        with told(f"LitePCIe device {device!r}"):
            self._file = os.open(device, os.O_RDWR)

    def _word(self, address: int, value: int = 0, *, write: bool = False) -> int:
        with told(f"LitePCIe device {self._device!r}: {'write' if write else 'read'} of {address:#x}"):
            if not 0 <= address < 1 << 32:
                raise ValueError("its bus has 32 bits of addresses")
            moved = bytearray(self.WORD.pack(address, value, write))
            fcntl.ioctl(self._file, self.REQUEST, moved)
            return int(self.WORD.unpack(moved)[1])

    def read32(self, offset: int) -> int:
        return self._word(self._registers + offset)

    def write32(self, offset: int, value: int) -> None:
        self._word(self._registers + offset, value, write=True)

    def read(self, address: int, size: int) -> bytes:
        return struct.pack(f"<{size // 4}I", *(self._word(address + at) for at in range(0, size, 4)))

    def write(self, address: int, data: bytes) -> None:
        for at, (value,) in enumerate(struct.iter_unpack("<I", data)):
            self._word(address + 4 * at, value, write=True)
