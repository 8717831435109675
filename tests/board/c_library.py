"""The driver in C with the tables of a program, as a shared library whose registers are an array."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from cosim.board.c_registers import HEADER, registers_header
from cosim.board.c_tables import tables_header, tables_source
from cosim.board.memory import contents, places, wanted
from cosim.board.tables import tables_of
from hw.registers.wrapper import board_design
from step.language.graph import Graph
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.registers import MAGIC, VERSION
from step.programs.data.inputs import bind_inputs
from step.running.interpreter import interpret

SOURCES = Path(__file__).parents[2] / "cosim" / "board" / "c"
COMPILER = shutil.which("cc")
REGISTERS = """
#include <stdint.h>
extern uint32_t words[1024];
#define STEP_READ32(address) (words[(address) / 4])
#define STEP_WRITE32(address, value) (words[(address) / 4] = (value))
"""
BASE = 0x8000_0000


class Region(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


class Library:
    def __init__(self, graph: Graph, data: dict[str, Any], directory: Path, fabric: FabricConfig) -> None:
        netlist = lower(graph, fabric)
        design = board_design(netlist, BusConfig(bytes=16, address_bits=40), streams=True)
        self.tables = tables_of(netlist, design)
        self.before = contents(self.tables, bind_inputs(graph, data))
        self.after = wanted(self.tables, interpret(graph, data).outputs)
        sizes = {name: len(each) for name, each in self.before.items()}
        sizes |= {name: len(each.content) for name, each in self.after.items()}
        self.places = places(self.tables.design.board, BASE, sizes)
        (directory / HEADER).write_text(registers_header(design.registers, fabric))
        (directory / f"{self.tables.name}.h").write_text(tables_header(self.tables))
        (directory / "tables.c").write_text(tables_source(self.tables, self.places))
        (directory / "registers.h").write_text(REGISTERS)
        (directory / "words.c").write_text("#include <stdint.h>\nuint32_t words[1024];\n")
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]
        files = [*map(str, sorted(SOURCES.glob("*.c"))), "tables.c", "words.c"]
        command = [str(COMPILER), *strict, "-include", "registers.h", f"-I{SOURCES}", "-I.", *files, "-o", "driver.so"]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self.c = ctypes.CDLL(str(directory / "driver.so"))
        self.words = (ctypes.c_uint32 * 1024).in_dll(self.c, "words")
        self.words[0], self.words[1], self.words[2] = MAGIC, VERSION, int(design.fabric.hash[:8], 16)
        self.regions = (Region * len(self.places))()
        self.board = (ctypes.c_uint64 * 8)()
        self.memory = ctypes.create_string_buffer(self.places[-1].end - BASE)

    def open(self) -> int:
        design = ctypes.c_char.in_dll(self.c, self.tables.name)
        return self.c.step_board_open(self.board, ctypes.byref(design), ctypes.c_void_p(0), self.regions)

    def begin(self) -> None:
        """Open the board, and put all images into memory."""
        size = ctypes.c_size_t(len(self.memory))
        assert self.open() == 0
        assert self.c.step_board_place_all(self.board, ctypes.c_uint64(BASE), self.memory, size) == 0

    def image(self, name: str, size: int) -> bytes:
        (at,) = (each.address - BASE for each in self.places if each.name == name)
        return self.memory.raw[at : at + size]

    def put(self, name: str, content: bytes) -> None:
        (at,) = (each.address - BASE for each in self.places if each.name == name)
        ctypes.memmove(ctypes.addressof(self.memory) + at, content, len(content))

    def write_tensor(self, number: int, array: np.ndarray) -> int:
        return self.c.step_write_tensor(self.board, number, array.tobytes(), ctypes.c_size_t(array.nbytes))

    def read_tensor(self, number: int, size: int) -> bytes:
        room = ctypes.create_string_buffer(size)
        assert self.c.step_read_tensor(self.board, number, room, ctypes.c_size_t(size)) == 0
        return room.raw

    def write_stream(self, number: int, values: bytes, lengths: list[int]) -> int:
        words, count = (ctypes.c_uint32 * max(1, len(lengths)))(*lengths), ctypes.c_size_t(len(lengths))
        return self.c.step_write_stream(self.board, number, values, ctypes.c_size_t(len(values)), words, count)

    def read_stream(self, number: int) -> tuple[bytes, list[int]]:
        values, words = ctypes.create_string_buffer(1 << 16), (ctypes.c_uint32 * 1000)()
        size, count = ctypes.c_size_t(1 << 16), ctypes.c_size_t(1000)
        assert self.c.step_read_stream(self.board, number, values, ctypes.byref(size), words, ctypes.byref(count)) == 0
        return values.raw[: size.value], list(words[: count.value])
