"""Folders of boards with their package ``host``, and a stand-in for what is behind a transport."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cosim.board.folder import Folder, write_folder
from cosim.board.options import Options
from step import BusConfig, Program
from step.lowering.registers import MAGIC, VERSION
from step.programs.prepare import prepare


def written(program: Program, directory: Path) -> tuple[Path, Folder, ModuleType]:
    """The folder of ``program``, what it has, and the package ``host`` in it."""
    bus = BusConfig(bytes=16, burst=4, address_bits=40)
    folder = write_folder(prepare(program), Options(bus, initial_values=False), directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        host = importlib.import_module("host")
        for name in [each for each in sys.modules if each.partition(".")[0] == "host"]:
            del sys.modules[name]  # the next folder has one, too
    return directory, folder, host


class Memory:
    """A board that leaves ``left`` in the buffers of a run as soon as it is started; registers are words. A run that
    is queued behind another one stands still with it, until a test says another `status`.

    ``given``: memory at that start; ``moved``: transfers and their bytes, by kind.
    """

    interrupts = False

    def __init__(self, folder: Folder, left: bytes = b"") -> None:
        registers, base = folder.tables.addresses, folder.places[0].address
        self.words, self.started = {registers["magic"]: MAGIC, registers["version"]: VERSION}, 0
        self.words[registers["hash"]] = int(folder.tables.design.fabric.hash[:8], 16)
        self.registers, self.base, self.left = registers, base, left
        self.last, self.size = folder.places[-1], folder.places[-1].end - base
        self.memory, self.given = bytearray(2 * self.size), b""
        self.moved: dict[str, list[int]] = {"read": [], "write": []}

    def status(self, value: int, missing: int | None = None) -> None:
        """Another ``value``, with so many ``missing`` runs that were started: none where it is done, else one."""
        missing = int(not value & 1) if missing is None else missing
        self.words[self.registers["status"]] = value | self.started - missing << 16

    def read32(self, offset: int) -> int:
        return self.words.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        if offset == self.registers["control"]:
            before = self.read32(self.registers["status"])
            waits = value == 4 and bool(before & 4)
            self.started = before >> 16 if value == 2 else self.started + 1
            self.status(2 if value == 2 else 0x44 if waits else 1, 2 * waits)
            if value != 2:
                self.given = bytes(self.memory[: self.size])
                at = self.words[self.registers[f"base_{self.last.name}_low"]] - (self.last.address & 0xFFFF_FFFF)
                self.memory[at : at + len(self.left)] = self.left
        elif offset not in self.registers.values() or offset > self.registers["status"]:
            self.words[offset] = value

    def reserve(self, size: int, address: int) -> int:
        return address

    def _part(self, kind: str, address: int, size: int) -> slice:
        assert address % 64 == size % 64 == 0 and self.base <= address <= self.base + len(self.memory) - size
        self.moved[kind].append(size)
        return slice(address - self.base, address - self.base + size)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.memory[self._part("read", address, size)])

    def write(self, address: int, data: bytes) -> None:
        self.memory[self._part("write", address, len(data))] = data

    def view(self, address: int, size: int) -> np.ndarray:
        return np.frombuffer(self.memory, np.uint8)[self._part("read", address, size)]

    def wait(self) -> None:
        raise AssertionError("the run is over")
