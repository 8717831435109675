"""Off-chip memory at random addresses: read, written, and both."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from scenarios.scenario import STREAMS, Bench, Inputs, add, broken, builder, dims_of, renumbered, scenario
from step.functions.retile import RetileRow
from step.language.dtypes import BF16, BOOL, INT8, INT32, UINT32
from step.language.faults import Fault
from step.language.graph import Graph, Tensor
from step.language.stream import Stream
from step.language.tokens import Token, parse
from step.language.types import Tile

ADDRESS = Tile(UINT32)


def below(text: str | list[Token], tiles: int) -> list[Token]:
    """The stream with addresses below ``tiles``."""
    tokens = parse(text) if isinstance(text, str) else text
    return [each._replace(value=each.value % tiles) if each.has_value else each for each in tokens]


def tensor(bench: Bench, name: str, shape: list[int], dtype: Any) -> Tensor:
    """A tensor with numbers that are all different, as far as they can be."""
    bench.inputs[name] = (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype.numpy)
    return bench.graph.tensor(name, shape, dtype)


@builder
def load(
    bench: Bench, shape: list[int], tile: tuple[int, int], rank: int, text: str | list[Token], dtype: Any = BF16
) -> None:
    x = bench.play("x", text, dims_of(rank), ADDRESS)
    x.load_random(tensor(bench, "a", shape, dtype), tile=tile).sink("y")


for _what, _rank, _text in STREAMS[:9]:
    add("random_off_chip_load", f"{_what}{_rank}", load([4, 6], (2, 3), _rank, below(_text, 4)))
_MANY = [Token(Random(each).randrange(12)) for each in range(30)]
add("random_off_chip_load", "one-beat", load([6, 4], (2, 1), 0, [*_MANY, *parse("D")]))
add("random_off_chip_load", "one-tile", load([4, 4], (4, 4), 1, "0 0 S1 E1 0 S1 D"))
add("random_off_chip_load", "three-dims", load([3, 4, 8], (2, 4), 1, "11 0 S1 5 7 S1 D"))
add("random_off_chip_load", "bits", load([6, 3], (3, 3), 1, "1 0 S1 E1 1 S1 D", BOOL))
add("random_off_chip_load", "bytes", load([4, 3], (1, 3), 0, "3 1 2 0 D", INT8))


@scenario("random_off_chip_load", "pointers")
def _pointers(bench: Bench) -> None:
    """Addresses that were loaded at addresses."""
    x = bench.play("x", "1 S1 E1 4 0 S1 D", dims_of(1), ADDRESS)
    bench.inputs["p"] = np.array([[3, 0, 2], [1, 5, 4]])
    where = x.load_random(bench.graph.tensor("p", (2, 3), UINT32), tile=(1, 1))
    where.load_random(tensor(bench, "a", [6, 4], BF16), tile=(2, 2)).sink("y")


@builder
def store(
    bench: Bench,
    shape: list[int],
    tile: tuple[int, int],
    rank: int,
    text: str | list[Token],
    dtype: Any = BF16,
    read: bool = True,
) -> None:
    dims = bench.dims(dims_of(rank))
    addresses = bench.play("x", text, dims, ADDRESS)
    data = bench.play("w", renumbered(text), dims, Tile(dtype, *tile))
    acknowledged = data.store_random(tensor(bench, "a", shape, dtype), addresses)
    if read:
        acknowledged.sink("y")


for _what, _rank, _text in STREAMS[:9]:
    add("random_off_chip_store", f"{_what}{_rank}", store([4, 6], (2, 3), _rank, below(_text, 4)))
add("random_off_chip_store", "one-beat", store([6, 4], (2, 1), 0, [*_MANY, *parse("D")]))
add("random_off_chip_store", "one-tile", store([4, 4], (4, 4), 1, "0 0 S1 E1 0 S1 D"))
add("random_off_chip_store", "three-dims", store([3, 4, 8], (2, 4), 1, "11 0 S1 5 7 S1 D"))
add("random_off_chip_store", "bits", store([6, 3], (3, 3), 1, "1 0 S1 E1 1 S1 D", BOOL))
add("random_off_chip_store", "bytes", store([4, 3], (1, 3), 0, "3 1 2 0 D", INT8))
add("random_off_chip_store", "numbers", store([2, 3], (1, 1), 1, "5 0 S1 E1 3 S1 D", UINT32))
add("random_off_chip_store", "unread", store([4, 4], (2, 2), 1, "3 1 S1 E1 0 S1 D", INT32, read=False))


def behind(addresses: Stream, acknowledged: Stream) -> Stream:
    """Each of the ``addresses`` once that of the same place is ``acknowledged``."""
    data, reference = (each.reshape(1)[0] for each in (addresses, acknowledged))
    return data.expand(reference, rank=1).flatten(0, 1)


@builder
def stored_and_read(bench: Bench, rank: int, text: str, read: Callable[[Tensor, Stream, Stream], Stream]) -> None:
    """Tiles that are stored, and what ``read`` gets of the tensor, the addresses and the acknowledgements."""
    dims = bench.dims(dims_of(rank)) if rank else [4]
    addresses = bench.play("x", text, dims, ADDRESS)
    data = bench.play("w", renumbered(text), dims, Tile(INT32, 2, 2))
    cache = tensor(bench, "a", [4, 8], INT32)
    read(cache, addresses, data.store_random(cache, addresses)).sink("y")


def _same(cache: Tensor, addresses: Stream, acknowledged: Stream) -> Stream:
    return behind(addresses, acknowledged).load_random(cache, tile=(2, 2))


def _all(cache: Tensor, addresses: Stream, acknowledged: Stream) -> Stream:
    """The whole tensor once everything is stored."""
    last = acknowledged.promote().accum(RetileRow(), rank=1)
    return acknowledged.graph.load(cache, tile=(2, 2), reference=last)  # type: ignore[attr-defined, no-any-return]


def _moved(cache: Tensor, addresses: Stream, acknowledged: Stream) -> Stream:
    """What was stored is stored once more, elsewhere, and read there: two stores of one tensor."""
    read = _same(cache, addresses, acknowledged)
    graph: Graph = acknowledged.graph  # type: ignore[assignment]
    place = graph.source("z", ADDRESS, [4])
    return behind(place, read.store_random(cache, place)).load_random(cache, tile=(2, 2))


for _rank, _text in ((0, "3 1 7 0 D"), (1, "3 1 S1 E1 7 S1 D"), (2, "E2 3 S1 E1 S2 1 7 S1 0 S2 D")):
    add("random_off_chip_store", f"read-{_rank}", stored_and_read(_rank, _text, _same))
add("random_off_chip_store", "all-read", stored_and_read(0, "3 3 0 3 D", _all))


def _moves(graph: Graph) -> Inputs:
    return {**stored_and_read(0, "3 1 7 0 D", _moved)(graph), "z": np.array([4, 5, 6, 2], np.uint32)}


add("random_off_chip_store", "moved", _moves)

for _text in ("1 9 2 D", "4 D", "4294967295 D"):
    _name = f"range-{_text.split()[0]}"
    broken("random_off_chip_load", _name, Fault.OUT_OF_RANGE, load([4, 6], (2, 3), 0, _text))
    broken("random_off_chip_store", _name, Fault.OUT_OF_RANGE, store([4, 6], (2, 3), 0, _text))
