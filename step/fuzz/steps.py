"""The steps by which a program grows: each adds an operator or a few, or finds that nothing fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np

from step.functions.cast import Cast
from step.functions.compare import RELATIONS, Compare, Where
from step.functions.counting import CountFrom
from step.functions.elementwise import Add, Max, Min, Mul, MulAdd, Scale, Sub
from step.functions.exp import Exp
from step.functions.gelu import Gelu
from step.functions.matmul import Matmul
from step.functions.reciprocal import Div, Reciprocal
from step.functions.retile import RetileCol, RetileRow, RetileStreamify
from step.functions.rsqrt import Rsqrt
from step.functions.select import SelectAll, SelectValid
from step.functions.silu import Silu
from step.fuzz.draft import HIGHEST_RANK, ROOM, Draft, Piece
from step.fuzz.nested import entries, inside
from step.fuzz.values import alike, grouped, random_nested, random_tile, random_value, seen
from step.language.dims import Dim, dim
from step.language.dtypes import BF16, BOOL, DTYPES, FLOATS, FP32, INT8, INT32, INTEGERS, UINT32, DType
from step.language.function import MapFunction
from step.language.graph import Tensor
from step.language.stream import Stream
from step.language.types import ElementType, Selector, Tile, Tuple
from step.library import parallelize
from step.ops.generate import Constant

LARGEST_TILE = 16
"""Scalars of a token that the fabrics of these tests carry."""

WIDEST = 600
"""Bits of a tuple."""

MANY = 200
"""Tiles of a tensor."""

STEPS: list[Callable[[Draft], None]] = []


def step(weight: int) -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Take the step ``weight`` times as often as others."""

    def register(function: Callable[[Draft], None]) -> Callable[[Draft], None]:
        STEPS.extend([function] * weight)
        return function

    return register


def scalars(tile: ElementType) -> int:
    assert isinstance(tile, Tile)
    return int(tile.elements)


def is_bf16(piece: Piece) -> bool:
    return isinstance(piece.element, Tile) and piece.element.dtype is BF16


def is_integer(piece: Piece) -> bool:
    return isinstance(piece.element, Tile) and piece.element.dtype in INTEGERS


def partner(draft: Draft, piece: Piece, element: ElementType | None = None) -> Piece:
    """A stream of the shape of ``piece``, and of ``element`` if there is one: from the pool, or a source."""
    found = [
        each
        for each in draft.pool
        if each.stream.shape == piece.stream.shape
        and element in (None, each.element)
        and not each.timed
        and alike(each.nested, piece.nested, piece.rank + 1)
    ]
    if found and not piece.timed and draft.chance(0.5):
        return draft.random.choice(found)
    if element in (None, piece.element) and (piece.timed or draft.chance(0.3)):
        return piece
    assert not piece.timed
    wanted = element or random_tile(draft.random)
    nested = inside(piece.rank + 1, lambda _: random_value(draft.random, wanted), piece.nested)
    return draft.play("twin", wanted, nested, piece.stream.shape)


# -- functions of elements ------------------------------------------------------------------------------------------


@step(3)
def source(draft: Draft) -> None:
    draft.pool.append(draft.source())


def constants(draft: Draft, element: ElementType, count: int) -> list[Constant]:
    """Values of ``element`` that stand in the program itself."""

    def constant() -> Constant:
        value = random_value(draft.random, element)
        return value if isinstance(value, int) else tuple(map(tuple, (value * 1).tolist()))

    return [constant() for _ in range(count)]


@step(3)
def generate(draft: Draft) -> None:
    """A stream that is no input: integers or constants, for every element of a stream, or by themselves."""
    reference = draft.pick(lambda each: each.rank < HIGHEST_RANK - 1, factor=3) if draft.chance(0.6) else None
    extents = [draft.random.randint(1, 3) for _ in range(draft.random.randint(0 if reference else 1, 2))]
    read = None if reference is None else draft.read(reference)
    if draft.chance(0.3):
        tile, start = Tile(draft.random.choice([INT8, INT32])), draft.random.randint(-9, 9)
        integers = range(start, start + draft.random.choice([-3, 1, 4]) * draft.random.randint(1, 7), 1)
        if not integers:
            integers = range(start, start - 20, -7)
        stream = draft.graph.generate(tile, integers, extents, reference=read)
    else:
        element = random_tile(draft.random) if draft.chance(0.6) else Selector(draft.random.randint(1, 3))
        rank = len(extents) - 1 if reference is None else reference.rank + len(extents)
        counts = [draft.random.randint(1, 4), *(draft.random.randint(0, 2) * (rank == 0) for _ in range(2))]
        values, before, behind = (constants(draft, element, count) for count in counts)
        stream = draft.graph.generate(element, values, extents, before=before, behind=behind, reference=read)
    draft.keep(stream, timed=reference is not None and reference.timed)


@step(6)
def item_of(draft: Draft) -> None:
    if piece := draft.pick(lambda each: isinstance(each.element, Tuple)):
        assert isinstance(piece.element, Tuple)
        draft.keep(draft.read(piece)[draft.random.randrange(len(piece.element.items))], timed=piece.timed)


@step(3)
def map_one(draft: Draft) -> None:
    if piece := draft.pick():
        functions: list[MapFunction] = [SelectAll(draft.random.randint(1, 3))]
        if piece.is_float:
            functions = [
                Silu(),
                Gelu(),
                Exp(),
                Reciprocal(),
                Rsqrt(),
                Scale(-0.3),
                Cast(BF16),
                Cast(FP32),
                any_cast(draft),
            ]
        elif piece.element == Tile(BOOL):
            functions = [SelectValid(), any_cast(draft)]
        elif is_integer(piece):
            functions = [Scale(draft.random.randint(0, 100)), any_cast(draft)]
        elif draft.chance(0.6):
            return
        draft.keep(draft.read(piece).map(draft.random.choice(functions)), timed=piece.timed)


def any_cast(draft: Draft) -> Cast:
    """To any format, though mostly to one that is computed with."""
    return Cast(draft.random.choice([*DTYPES.values(), BF16, FP32]))


def operand(draft: Draft, piece: Piece, dtypes: Sequence[DType]) -> Piece:
    """Another operand of a function of scalars, of ``dtypes``, maybe one that is repeated."""
    tile = piece.element
    assert isinstance(tile, Tile)
    wanted: ElementType = tile
    if not piece.timed and (tile.dtype not in dtypes or draft.chance(0.5)):
        dtype = draft.random.choice(dtypes)
        wanted = Tile(dtype, draft.random.choice([tile.rows, dim(1)]), draft.random.choice([tile.cols, dim(1)]))
    return partner(draft, piece, wanted)


@step(5)
def map_two(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.is_float or is_integer(each)):
        assert isinstance(piece.element, Tile)
        formats = FLOATS if piece.is_float else [piece.element.dtype]
        other = operand(draft, piece, formats)
        out = draft.random.choice([None, *(FLOATS if piece.is_float else INTEGERS)])
        functions: list[MapFunction] = [Add(out), Mul(out), Sub(out), Max(out), Min(out), relation(draft)]
        function = draft.random.choice([*functions, Div(out)] if piece.is_float else functions)
        draft.keep(draft.read(piece).map(function, draft.read(other)), timed=piece.timed)


def relation(draft: Draft) -> Compare:
    return Compare(draft.random.choice([*RELATIONS]))


@step(3)
def map_three(draft: Draft) -> None:
    """A product and a sum, or a choice."""
    if piece := draft.pick(lambda each: isinstance(each.element, Tile)):
        assert isinstance(piece.element, Tile)
        if (piece.is_float or is_integer(piece)) and draft.chance(0.5):
            formats = FLOATS if piece.is_float else [piece.element.dtype]
            others = [operand(draft, piece, formats) for _ in range(2)]
            made = draft.read(piece).map(MulAdd(), *map(draft.read, others))
        else:
            other = operand(draft, piece, [piece.element.dtype])
            made = draft.read(piece).map(relation(draft), draft.read(other))
            made = made.map(Where(), draft.read(piece), draft.read(other))
        draft.keep(made, timed=piece.timed)


def matmul_partner(draft: Draft, piece: Piece) -> tuple[Piece, bool]:
    """The second operand of a product, and whether it is transposed."""
    assert isinstance(piece.element, Tile)
    rows, inner = piece.element.shape
    if piece.timed:
        return piece, True
    cols, transposed = draft.random.randint(1, LARGEST_TILE // max(rows, inner)), draft.chance(0.5)
    return partner(draft, piece, Tile(BF16, cols, inner) if transposed else Tile(BF16, inner, cols)), transposed


@step(2)
def map_matmul(draft: Draft) -> None:
    if piece := draft.pick(is_bf16):
        other, transposed = matmul_partner(draft, piece)
        function = Matmul(transposed, draft.random.choice([BF16, FP32]))
        draft.keep(draft.read(piece).map(function, draft.read(other)), timed=piece.timed)


@step(2)
def zip_some(draft: Draft) -> None:
    if piece := draft.pick():
        others = [partner(draft, piece) for _ in range(draft.random.randint(1, 2))]
        if sum(each.element.bits for each in [piece, *others]) <= WIDEST:
            draft.keep(draft.read(piece).zip(*map(draft.read, others)), timed=piece.timed)


@step(6)
def accum(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank > 0 and (each.is_float or is_integer(each))):
        rank = draft.random.randint(1, piece.rank)
        formats: Sequence[DType] = FLOATS if piece.is_float else INTEGERS
        if is_bf16(piece) and draft.chance(0.4):
            other, transposed = matmul_partner(draft, piece)
            total = draft.read(piece).accum(Matmul(transposed), draft.read(other), rank=rank)
        elif draft.chance(0.2):
            assert isinstance(piece.element, Tile)
            other = operand(draft, piece, FLOATS if piece.is_float else [piece.element.dtype])
            total = draft.read(other).accum(MulAdd(), draft.read(piece), rank=rank)
        else:
            function = draft.random.choice([Add, Mul, Max, Min])(draft.random.choice([None, *formats]))
            total = draft.read(piece).accum(function, rank=rank)
        draft.keep(total, timed=piece.timed)


@step(3)
def scan(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank > 0 and each.is_float):
        rank, exclusive = draft.random.randint(1, piece.rank), draft.chance(0.5)
        if is_bf16(piece) and draft.chance(0.3):
            other, transposed = matmul_partner(draft, piece)
            states = draft.read(piece).scan(Matmul(transposed), draft.read(other), rank=rank, exclusive=exclusive)
        else:
            function = draft.random.choice([Add(), Mul(), Add(BF16), Mul(BF16)])
            states = draft.read(piece).scan(function, rank=rank, exclusive=exclusive)
        draft.keep(states, timed=piece.timed)


@step(2)
def accum_retile(draft: Draft) -> None:
    def tiles(piece: Piece, rank: int) -> int:
        """How many tiles a reduction joins; 0 where nobody knows, or where there are none."""
        dims = piece.stream.shape[-rank:]
        if rank > piece.rank or not all(each.is_static for each in dims):
            return 0
        return prod(int(each) for each in dims)

    def fits(piece: Piece, rank: int) -> bool:
        return isinstance(piece.element, Tile) and 0 < tiles(piece, rank) * scalars(piece.element) <= LARGEST_TILE

    rank = draft.random.choice([1, 1, 2])
    if piece := draft.pick(lambda each: fits(each, rank)):
        function = draft.random.choice([RetileRow(), RetileCol()])
        draft.keep(draft.read(piece).accum(function, rank=rank), timed=piece.timed)


@step(4)
def flat_map(draft: Draft) -> None:
    rank, axis = draft.random.choice([0, 1]), draft.random.choice(["row", "col"])
    if piece := draft.pick(lambda each: isinstance(each.element, Tile) and each.rank + rank <= HIGHEST_RANK, factor=4):
        extent = piece.element.shape[axis == "col"]
        chunk = draft.random.choice([each for each in range(1, extent + 1) if extent % each == 0])
        draft.keep(draft.read(piece).flat_map(RetileStreamify(chunk, axis, rank)), timed=piece.timed)


@step(3)
def count(draft: Draft) -> None:
    """Numbers, as many as other numbers say."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK and not each.timed, factor=4):
        counts = inside(piece.rank + 1, lambda _: np.array([[draft.random.randrange(5)]], np.uint32), piece.nested)
        first = partner(draft, piece, Tile(UINT32))
        count = draft.play("count", Tile(UINT32), counts, piece.stream.shape)
        draft.keep(draft.read(first).flat_map(CountFrom(), draft.read(count)))


@step(6)
def retile(draft: Draft) -> None:
    """Tiles joined to one of dynamic size, and parted again: where there were none, an element becomes nothing."""

    def fits(piece: Piece) -> bool:
        return piece.rank > 0 and isinstance(piece.element, Tile)

    if draft.dynamic and (piece := draft.pick(fits)):
        rank = draft.random.randint(1, min(2, piece.rank))
        joined = draft.read(piece).accum(RetileRow(), rank=rank)
        if not joined.element.is_static:
            draft.keep(joined.flat_map(RetileStreamify(1, "row", draft.random.choice([0, 1]))), timed=piece.timed)


# -- shape ----------------------------------------------------------------------------------------------------------


@step(7)
def flatten(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank > 0):
        low = draft.random.randrange(piece.rank)
        draft.keep(draft.read(piece).flatten(low, draft.random.randint(low + 1, piece.rank)), timed=piece.timed)


@step(3)
def reshape(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        chunk = 1 if isinstance(piece.element, Tuple) else draft.random.randint(1, 3)
        pad = draft.random.choice([0.0, 1.0]) if isinstance(piece.element, Tile) else 0.0
        data, padding = draft.read(piece).reshape(chunk, pad=pad)
        draft.keep(data, *[padding] * draft.chance(0.6), timed=piece.timed)


@step(3)
def split(draft: Draft) -> None:
    """A dimension that is not the innermost one, in equal parts."""

    def splits(piece: Piece) -> list[tuple[int, int]]:
        """Ranks and chunks that fit."""
        outer = [(rank, piece.stream.shape[-1 - rank]) for rank in range(1, piece.rank + 1)]
        extents = [(rank, int(each)) for rank, each in outer if each.is_static]
        return [(rank, chunk) for rank, extent in extents for chunk in range(1, extent + 2) if extent % chunk == 0]

    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK and bool(splits(each))):
        rank, chunk = draft.random.choice(splits(piece))
        data, padding = draft.read(piece).reshape(chunk, rank=rank)
        draft.keep(data, *[padding] * draft.chance(0.3), timed=piece.timed)


@step(2)
def promote(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        draft.keep(draft.read(piece).promote(), timed=piece.timed)


@step(2)
def repeat(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        draft.keep(draft.read(piece).repeat(draft.random.randint(1, 3)), timed=piece.timed)


@step(2)
def expand_static(draft: Draft) -> None:
    if piece := draft.pick(lambda each: each.rank > 0 and each.stream.shape[-1] == dim(1), factor=4):
        draft.keep(draft.read(piece).expand_static(draft.random.randint(1, 4)), timed=piece.timed)


@step(3)
def expand(draft: Draft) -> None:
    """Along a reference: its own sums, or a source of ones."""
    if reference := draft.pick(lambda each: each.rank > 0 and (each.is_float or not each.timed)):
        rank = draft.random.randint(1, min(3, reference.rank))
        if reference.is_float and (reference.timed or draft.chance(0.5)):
            data = draft.read(reference).accum(Add(), rank=rank)
            for _ in range(rank):
                data, _ = data.reshape(1)
        else:
            wanted = random_tile(draft.random)

            def ones(levels: int) -> object:
                return [ones(levels - 1)] if levels else random_value(draft.random, wanted)

            nested = inside(reference.rank + 1 - rank, lambda _: ones(rank), reference.nested)
            data = draft.read(draft.play("ones", wanted, nested, [*reference.stream.shape[:-rank], *[1] * rank]))
        draft.keep(data.expand(draft.read(reference), rank=rank), timed=reference.timed)


@step(2)
def assume(draft: Draft) -> None:
    """Promise what is so: extents that are always the same."""

    def promise(known: Dim, extents: set[int]) -> Dim | int:
        if known.is_static or len(extents) != 1 or draft.chance(0.3):
            return known
        (extent,) = extents
        return draft.random.choice([extent, *(each for each, is_so in draft.regular if is_so == extent)])

    if piece := draft.pick(lambda each: not each.timed and each.stream.key not in draft.read_keys):
        extents = [seen(piece.nested, level) for level in range(piece.rank + 1)]
        draft.pool.remove(piece)
        draft.keep(piece.stream.assume_shape(map(promise, piece.stream.shape, extents)))


# -- routing --------------------------------------------------------------------------------------------------------


def selecting(draft: Draft, piece: Piece) -> Piece:
    """Selectors for the chunks of ``piece``, of any rank: from the pool, or a source."""
    if piece.timed:
        return draft.keep(draft.read(piece).map(SelectAll(draft.random.randint(1, 3))), timed=True)[0]
    found = [
        each
        for each in draft.pool
        if isinstance(each.element, Selector)
        and not each.timed
        and each.stream.shape == piece.stream.shape[: each.rank + 1]
        and alike(each.nested, piece.nested, each.rank + 1)
    ]
    if found and draft.chance(0.4):
        return draft.random.choice(found)
    targets, outer = draft.random.choice([1, 2, 2, 3, 3, 5]), draft.random.randint(1, piece.rank + 1)
    masks = inside(outer, lambda _: draft.random.randrange(1 << targets), piece.nested)
    return draft.selectors(targets, masks, piece.stream.shape[:outer])


def route(draft: Draft, piece: Piece) -> tuple[list[Piece], Piece, int]:
    """The parts of ``piece`` behind a Partition, the selectors, and the rank of the chunks."""
    which = selecting(draft, piece)
    assert isinstance(which.element, Selector)
    rank = piece.rank - which.rank
    parts = draft.read(piece).partition(draft.read(which), targets=which.element.targets, rank=rank)
    return draft.keep(*parts, timed=piece.timed), which, rank


@step(3)
def partition(draft: Draft) -> None:
    if piece := draft.pick():
        route(draft, piece)


@step(4)
def route_and_gather(draft: Draft) -> None:
    """Chunks through several targets and together again, in the order of the selectors that sent them."""
    if piece := draft.pick(lambda each: each.rank < HIGHEST_RANK, factor=3):
        parts, which, rank = route(draft, piece)
        streams = [draft.read(each) for each in parts]
        if isinstance(piece.element, Tile) and piece.element.dtype.is_float:
            for port in range(len(streams)):
                for _ in range(draft.random.randint(0, 2)):
                    streams[port] = streams[port].map(Cast(piece.element.dtype))
        gather(draft, streams, which, rank, timed=piece.timed)


def gather(draft: Draft, streams: list[Stream], which: Piece, rank: int, *, timed: bool) -> None:
    order = draft.random.choice(["index", "arrival"])
    again = draft.graph.reassemble(streams, draft.read(which), rank=rank, order=order)
    draft.keep(again, timed=timed or order == "arrival")


def same_chunks(first: Piece, other: Piece) -> bool:
    """Whether chunks of both can go into one stream."""
    return (
        other.element == first.element
        and other.rank == first.rank
        and all(
            one == two or one.is_ragged or two.is_ragged
            for one, two in zip(first.stream.shape[1:], other.stream.shape[1:], strict=True)
        )
    )


@step(2)
def reassemble(draft: Draft) -> None:
    """Chunks from anywhere, for selectors that take them all."""

    if first := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK - 1):
        others = [each for each in draft.pool if not each.timed and same_chunks(first, each)]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        left = [len(each.nested) for each in pieces]
        masks = []
        while any(left) or draft.chance(0.2):
            chosen = [port for port, count in enumerate(left) if count and draft.chance(0.6)]
            masks.append(sum(1 << port for port in chosen))
            for port in chosen:
                left[port] -= 1
        rank = draft.random.choice([0, 0, 1, 2]) if first.rank < 3 else 0
        nested = grouped(draft.random, masks, rank)
        outermost = len(nested) if draft.chance(0.3) else draft.graph.symbol(draft.name("N"))
        dims = [outermost, *(draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(rank))]
        which = draft.selectors(len(pieces), nested, dims)
        gather(draft, [draft.read(each) for each in pieces], which, first.rank, timed=False)


# -- on-chip memory -------------------------------------------------------------------------------------------------


def strides(draft: Draft, tiles: int) -> tuple[list[int], list[int]]:
    """Extents and strides of a read of up to four of the ``tiles`` of a buffer, which begins with the first one."""
    out = draft.random.choice([[1], [2], [3], [4], [2, 2]])
    stride = [draft.random.randint(0, 3) for _ in out]
    if sum((extent - 1) * each for extent, each in zip(out, stride, strict=True)) >= tiles:
        stride = [0 for _ in out]
    return out, stride


@step(6)
def buffer(draft: Draft) -> None:
    """A buffer, read once, so often, or after a reference, in order or with strides."""

    def fits(piece: Piece) -> bool:
        return 0 < piece.rank < HIGHEST_RANK - 1 and isinstance(piece.element, Tile)

    if piece := draft.pick(fits, factor=4):
        rank = draft.random.randint(1, piece.rank)
        if any(each.is_ragged for each in piece.stream.shape[-rank:][1:]):
            rank = 1
        buffers, dims = draft.read(piece).bufferize(rank=rank), piece.stream.shape[-rank:]
        out, stride = None, None
        if all(each.is_static and int(each) for each in dims) and draft.chance(0.6):
            out, stride = strides(draft, prod(map(int, dims)))
        outer, reference, count = piece.stream.shape[:-rank], None, None
        how = draft.random.choice(["once", "count", "sums", "reference", "reference"])
        if how == "count":
            count = draft.random.randint(1, 3)
        elif how == "sums" and piece.is_float:
            reference = draft.read(piece).accum(Add(), rank=rank)
            if draft.chance(0.7):
                reference = reference.repeat(draft.random.randint(1, 3))
        elif how == "reference" and not piece.timed:
            extra = draft.random.randint(0, 2 if len(outer) + rank < HIGHEST_RANK - 1 else 1)
            wanted = random_tile(draft.random)
            inner = [draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(extra)]

            def again(_: object) -> object:
                extents: list[int | None] = [None] * extra
                return random_nested(draft.random, extents, wanted) if extra else random_value(draft.random, wanted)

            nested = inside(len(outer), again, piece.nested)
            reference = draft.read(draft.play("again", wanted, nested, [*outer, *inner]))
        draft.keep(buffers.streamify(reference, count=count, out=out, stride=stride), timed=piece.timed)


@step(2)
def eager_merge(draft: Draft) -> None:
    """Chunks from anywhere, as they come."""
    if first := draft.pick(lambda each: each.rank < HIGHEST_RANK):
        others = [each for each in draft.pool if same_chunks(first, each)]
        pieces = [first, *draft.random.choices(others, k=draft.random.randint(0, 2))]
        merged, which = draft.graph.eager_merge([draft.read(each) for each in pieces], rank=first.rank)
        draft.keep(merged, *[which] * draft.chance(0.7), timed=True)


# -- loops ----------------------------------------------------------------------------------------------------------


def delaying(draft: Draft, piece: Piece, most: int) -> Callable[[Stream], Stream]:
    """A function of the elements of ``piece`` to the same type, up to ``most`` units long, a new one in each use."""

    def body(x: Stream) -> Stream:
        for _ in range(draft.random.randint(0, most)):
            assert isinstance(piece.element, Tile)
            x = x.map(draft.random.choice([Cast(piece.element.dtype), Silu(piece.element.dtype)]))
        return x

    return body


@step(2)
def loop(draft: Draft) -> None:
    """Every chunk goes round a few times, some of them together."""
    count = draft.random.randint(1, 3)
    if piece := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK, factor=count + 1):
        graph, rank, name = draft.graph, piece.rank, draft.name("loop")
        together, left = draft.random.randint(1, 3), len(piece.nested)
        enters, leaves = list[int](), list[int]()
        while left:
            group = min(together, left)
            left -= group
            enters += [0] * group + [1] * group * (count - 1)
            leaves += [0] * group * (count - 1) + [1] * group
        inner = [
            graph.symbol(draft.name("R"), ragged=True) if each.is_ragged else each for each in piece.stream.shape[1:]
        ]
        edge = graph.feedback(piece.element, [len(piece.nested) * (count - 1), *inner], name=name)
        again = edge.stream.buffered(ROOM if draft.roomy else draft.random.randint(2, 8))
        order = draft.random.choice(["index", "arrival"])
        enter = graph.turns(2, enters or [0], [len(enters)])
        gathered = graph.reassemble([draft.read(piece), again], enter, rank=rank, order=order).flatten(rank, rank + 1)
        x = gathered.assume_shape([len(enters), *gathered.shape[1:]])
        y = delaying(draft, piece, 2 * piece.is_float)(x)
        leave = graph.turns(2, leaves or [0], [len(leaves)])
        back, out = y.partition(leave, targets=2, rank=rank)
        edge.close(back.assume_shape(edge.type.shape))
        draft.go_round()
        draft.keep(out)


@step(2)
def parallel(draft: Draft) -> None:
    """Chunks for whoever is free."""
    if piece := draft.pick(lambda each: not each.timed and each.rank < HIGHEST_RANK, factor=3):
        chunks = None
        if piece.rank and not piece.stream.shape[0].is_static:
            one = Tile(BOOL)
            ones = [random_value(draft.random, one) for _ in piece.nested]
            chunks = draft.read(draft.play("each", one, ones, piece.stream.shape[:1]))
        order = draft.random.choice(["arrival", "input"])
        result = parallelize(
            draft.read(piece),
            delaying(draft, piece, 3 * piece.is_float),
            regions=draft.random.randint(1, 3),
            rank=piece.rank,
            order=order,
            chunks=chunks,
            name=draft.name("work"),
        )
        draft.go_round()
        draft.keep(result, timed=order == "arrival")


# -- off-chip memory ------------------------------------------------------------------------------------------------


@step(3)
def load(draft: Draft) -> None:
    """A walk over a tensor, once or for every element of a reference."""
    out = [draft.random.randint(1, 3) for _ in range(draft.random.randint(1, 2))]
    reference = None
    if draft.chance(0.8):
        reference = draft.pick(lambda each: each.rank + len(out) <= HIGHEST_RANK, factor=prod(out))
    tile = random_tile(draft.random)
    grid = [draft.random.randint(1, 3) for _ in range(draft.random.choice([2, 2, 3]))]
    rows, cols = tile.shape
    tensor = draft.tensor([*grid[:-2], grid[-2] * rows, grid[-1] * cols], tile)
    stride = [draft.random.choice([-2, -1, 0, 1, 1, 2, 3]) for _ in out]
    ends = [(extent - 1) * each for extent, each in zip(out, stride, strict=True)]
    first, last = sum(min(0, each) for each in ends), sum(max(0, each) for each in ends)
    if last - first >= prod(grid):
        stride, first, last = [0 for _ in out], 0, 0
    stream = draft.graph.load(
        tensor,
        tile=tile.shape,
        out=out,
        stride=stride,
        offset=draft.random.randint(-first, prod(grid) - 1 - last),
        reference=None if reference is None else draft.read(reference),
    )
    draft.keep(stream, timed=reference is not None and reference.timed)


def tensor_of(draft: Draft, tile: Tile, tiles: int) -> Tensor:
    """A tensor of ``tiles`` tiles, or a few more."""
    down, (rows, cols) = draft.random.randint(1, 3), tile.shape
    across = -(-tiles // down)
    return draft.tensor([*[1] * draft.random.randint(0, 1), down * rows, across * cols], tile)


def addressing(draft: Draft, piece: Piece, values: Iterable[int]) -> Piece:
    """A source of addresses in the shape of ``piece``."""
    left = iter(values)
    nested = inside(piece.rank + 1, lambda _: np.array([[next(left)]], np.uint32), piece.nested)
    return draft.play("at", Tile(UINT32), nested, piece.stream.shape)


@step(3)
def load_random(draft: Draft) -> None:
    """Tiles at addresses that are there, or in the shape of any stream."""
    if piece := draft.pick(lambda each: not each.timed):
        tile, most = random_tile(draft.random), draft.random.randint(1, 9)
        where, highest = piece, MANY
        if piece.element == Tile(UINT32):
            highest = max((int(each.item()) for each in entries(piece.rank + 1, piece.nested)), default=0)
        if highest < MANY:
            most = highest + 1
        else:
            where = addressing(draft, piece, iter(lambda: draft.random.randrange(most), None))
        tensor = tensor_of(draft, tile, most)
        draft.keep(draft.read(where).load_random(tensor, tile=tile.shape))


@step(3)
def store_random(draft: Draft) -> None:
    """Tiles that are stored, perhaps read again behind their acknowledgements, and stored elsewhere."""

    def fits(piece: Piece) -> bool:
        return isinstance(piece.element, Tile) and piece.rank < HIGHEST_RANK and not piece.timed

    if piece := draft.pick(fits, factor=2):
        tile, number = piece.element, len(entries(piece.rank + 1, piece.nested))
        assert isinstance(tile, Tile)
        places = draft.random.sample(range(2 * number + 2), 2 * number)
        tensor = tensor_of(draft, tile, 2 * number + 2)
        where = addressing(draft, piece, places)
        (done,) = draft.keep(draft.read(piece).store_random(tensor, draft.read(where)))
        for rest in range(draft.random.randint(0, 2)):
            (read,) = draft.keep(behind(draft, where, done).load_random(tensor, tile=tile.shape))
            if rest == 0 and draft.chance(0.5):
                where = addressing(draft, read, places[number:])
                (done,) = draft.keep(draft.read(read).store_random(tensor, draft.read(where)))


def behind(draft: Draft, where: Piece, done: Piece) -> Stream:
    """The addresses, each once what was stored there is acknowledged."""
    addresses, reference = (draft.read(each).reshape(1)[0] for each in (where, done))
    ordered = addresses.expand(reference, rank=1).flatten(0, 1)
    draft.keep()
    return ordered
