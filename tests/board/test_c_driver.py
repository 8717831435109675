"""The driver in C lays out what Python lays out, bit for bit, and says what is wrong."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from c_library import COMPILER, Library

from step.language.dtypes import BF16, BOOL, FP8_E4M3, FP32, INT8, UINT32
from step.language.graph import Graph
from step.language.types import Selector, Tile, Tuple
from step.lowering.fabric import FabricConfig
from step.lowering.off_chip import MemoryConfig

OK, RUNNING, BUSY, SHAPE, ALIGN, OVERLAP, SPACE, FAULT, DESIGN, PLACE = 0, 1, -1, -2, -3, -4, -5, -6, -7, -8
DROPPED = -10

pytestmark = [pytest.mark.large, pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")]


class Stream(ctypes.Structure):
    """step_stream."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("extents", ctypes.POINTER(ctypes.c_uint32)),
        ("parts", ctypes.POINTER(ctypes.c_uint32)),
        *((name, ctypes.c_uint16) for name in ("rank", "part_count", "is_source", "has_rows")),
        *((name, ctypes.c_uint32) for name in ("word_bytes", "unit_bytes", "request_bytes")),
        *((name, ctypes.c_uint16) for name in ("values", "list")),
    )


def fabric(link: int = 4) -> FabricConfig:
    return FabricConfig(link_bytes=link, memory=MemoryConfig(beat_bytes=8))


def test_tensors_in_tiles(tmp_path: Path) -> None:
    graph, random, given = Graph("copied"), np.random.default_rng(1), {}
    for dtype in (BF16, FP32, FP8_E4M3, INT8, BOOL):
        graph.load(graph.tensor(f"x_{dtype}", (2, 6, 10), dtype), tile=(3, 5), name=f"load_{dtype}").store(f"y_{dtype}")
        given[str(dtype)] = random.integers(0, 2 if dtype == BOOL else 99, (2, 6, 10)).astype(dtype.numpy)
    library = Library(graph, {f"x_{name}": x for name, x in given.items()}, tmp_path, fabric())
    library.begin()
    numbers = {each.name: at for at, each in enumerate(library.tables.tensors)}
    for name, x in given.items():
        assert library.write_tensor(numbers[f"x_{name}"], x) == OK
        assert library.image(f"load_{name}", len(library.before[f"load_{name}"])) == library.before[f"load_{name}"]
        assert library.write_tensor(numbers[f"x_{name}"], x[:1]) == SHAPE
        library.put(f"y_{name}", library.after[f"y_{name}"].content)
        wanted = x.reshape(2, 2, 3, 2, 5).transpose(0, 1, 3, 2, 4).tobytes()
        assert library.read_tensor(numbers[f"y_{name}"], x.nbytes) == wanted


class Made:
    """A random ragged stream: its elements as C takes them, and its lengths."""

    def __init__(self, element: Any, seed: int) -> None:
        self.element, self.dice = element, random.Random(seed)
        self.values, self.lengths, self.all_lengths = bytearray(), list[int](), list[int]()
        self.length(3)
        self.nested = [self._middle() for _ in range(3)]

    def length(self, count: int) -> int:
        self.lengths.append(count)
        self.all_lengths.append(count)
        return count

    def _middle(self) -> list[Any]:
        self.all_lengths.append(2)
        return [[self._one(self.element) for _ in range(self.length(self.dice.randrange(4)))] for _ in range(2)]

    def _one(self, element: Any) -> Any:
        if isinstance(element, Tuple):
            return tuple(self._one(each) for each in element.items)
        if isinstance(element, Selector):
            hot = [self.dice.randrange(2) for _ in range(element.targets)]
            self.values.extend(hot)
            return [at for at, bit in enumerate(hot) if bit]
        rows = int(element.rows) if element.rows.is_static else self.length(self.dice.randrange(4))
        most = 2 if element.dtype == BOOL else 99
        numbers = [self.dice.randrange(most) for _ in range(rows * int(element.cols))]
        array = np.array(numbers).reshape(rows, int(element.cols)).astype(element.dtype.numpy)
        self.values.extend(array.tobytes())
        return array


ELEMENTS = {
    "tile": Tile(BF16, 2, 3),
    "bytes": Tile(FP8_E4M3, 1, 3),
    "bits": Tile(BOOL, 3, 5),
    "count": Tile(UINT32),
    "selector": Selector(11),
    "pair": Tuple((Tile(INT8, 1, 3), Tile(FP32, 1, 2))),
    "rows": None,
}


@pytest.mark.parametrize(("kinds", "link"), [(list(ELEMENTS), 4), (["rows"], 1), (["pair"], 16)], ids=str)
def test_ragged_streams(tmp_path: Path, kinds: list[str], link: int) -> None:
    graph, streams = Graph("fed"), dict[str, Made]()
    for kind in kinds:
        element = ELEMENTS[kind] or Tile(BF16, graph.symbol("N", ragged=True), 3)
        lists = [graph.symbol(f"A_{kind}", ragged=True), 2, graph.symbol(f"B_{kind}", ragged=True)]
        graph.source(f"x_{kind}", element, lists).sink(f"y_{kind}")
        streams[kind] = Made(element, link)
    library = Library(graph, {f"x_{kind}": made.nested for kind, made in streams.items()}, tmp_path, fabric(link))
    library.begin()
    numbers = {each.name: at for at, each in enumerate(library.tables.streams)}
    for kind, made in streams.items():
        assert library.write_stream(numbers[f"x_{kind}"], bytes(made.values), made.lengths) == OK
    for name, content in library.before.items():
        assert library.image(name, len(content)) == content, name
    for name, after in library.after.items():
        library.put(name, after.content)
    for kind, made in streams.items():
        number = numbers[f"x_{kind}"]
        assert library.read_stream(numbers[f"y_{kind}"]) == (bytes(made.values), made.all_lengths)
        assert library.write_stream(number, bytes(made.values), made.lengths[:-1]) == SHAPE
        assert library.write_stream(number, bytes(made.values) + b"\0", made.lengths) == SHAPE


def test_what_is_wrong(tmp_path: Path, graph: Graph) -> None:
    graph.load(graph.tensor("x", (4, 8), BF16), tile=(4, 8), name="load").store("y")
    library = Library(graph, {"x": np.zeros((4, 8))}, tmp_path, fabric())
    c, board, room = library.c, library.board, ctypes.create_string_buffer(1 << 14)

    def place(image: int, address: int, size: int = 4096) -> int:
        return c.step_board_place(board, image, ctypes.c_uint64(address), room, ctypes.c_size_t(size))

    assert library.open() == OK
    assert c.step_board_start(board) == PLACE
    assert place(0, 0x1004) == ALIGN
    assert place(0, 0x1000, 8) == SPACE
    assert place(0, (1 << 40) - 8) == SPACE
    assert place(0, 0x1000) == OK
    assert place(1, 0x1FF8) == OVERLAP
    assert place(1, 0x12_0000_2000) == OK
    assert c.step_board_start(board) == OK
    addresses = {name: at // 4 for name, at in library.tables.addresses.items()}
    assert library.words[addresses["control"]] == 1
    assert library.words[addresses["base_y_high"]] == 0x12 and library.words[addresses["base_y_low"]] == 0x2000
    assert c.step_board_poll(board) == RUNNING
    library.words[addresses["status"]] = 4
    assert c.step_board_start(board) == BUSY
    assert c.step_board_queue(board) == OK and library.words[addresses["control"]] == 4
    library.words[addresses["status"]] = 0x40 | 1 << 16  # the first one is over, and this one about to begin
    assert (c.step_board_queue(board), c.step_board_start(board)) == (BUSY, BUSY)
    c.step_board_cycles.restype = ctypes.c_uint64
    library.words[addresses["cycles_low"]], library.words[addresses["previous_low"]] = 12, 34
    for status, cycles in ((2 << 16 | 4, 34), (2 << 16, 12), (3 << 16, 34)):
        library.words[addresses["status"]] = status
        assert (c.step_board_poll(board), c.step_board_cycles(board)) == (OK, cycles)
    assert c.step_board_start(board) == OK
    for done, result in ((3, FAULT), (2, DROPPED), (4, OK)):
        library.words[addresses["status"]] = 16 | done << 16
        assert c.step_board_poll(board) == result
    assert c.step_board_queue(board) == OK  # behind one that has failed by now
    assert c.step_board_poll(board) == DROPPED
    library.words[addresses["status"]] = 4
    c.step_result_text.restype = ctypes.c_char_p
    assert c.step_result_text(BUSY) == b"a start during a run"
    library.words[2] ^= 1
    assert library.open() == DESIGN
    assert (pack_large(c, 1023), pack_large(c, 1024)) == (OK, SPACE)


def pack_large(c: ctypes.CDLL, count: int) -> int:
    """Pack so many values of a 1,024th of what DMA counts, without values and images."""
    extents, part = (ctypes.c_uint32 * 1)(0xFFFF_FFFF), (ctypes.c_uint32 * 3)(1, 1 << 24, 32)
    stream = Stream(b"large", extents, part, 1, 1, 1, 0, 4, 16, 256, 0, 1)
    rooms, lengths = [ctypes.c_size_t(1 << 60) for _ in range(2)], (ctypes.c_uint32 * 1)(count)
    size, one = ctypes.c_size_t(count << 26), ctypes.c_size_t(1)
    images = [each for room in rooms for each in (None, ctypes.byref(room))]
    return c.step_pack_stream(ctypes.byref(stream), None, size, lengths, one, *images)
