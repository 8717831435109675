"""Streamify: reads buffers, as often as a reference stream or a constant says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import sympy

from step.language.affine import check_walk
from step.language.dims import Shape, dim, format_shape, if_equal, shape
from step.language.draft import HIGHEST_RANK, Draft, inside
from step.language.expecting import expect_element
from step.language.faults import Fault, Violation
from step.language.loops import Walk
from step.language.operator import Accounting, Names, Operator, Placed, Process, StreamType, Surroundings, expect
from step.language.padding import UNKNOWN, Padding
from step.language.stream import Stream, stream_method
from step.language.tokens import Token, empty
from step.language.types import Buffer
from step.language.useful import static_product

DATA, REFERENCE = 0, 1


@dataclass(frozen=True)
class Streamify(Operator):
    """Buffers ``[Db..D0]`` and a reference ``[Db..D0, D'(c-1)..D'0]`` -> ``[the reference's.., out..]``.

    A buffer is read once per element of the reference, whatever that is; a stop of the reference of c or more moves on
    to the next buffer. With a ``count`` and no reference every buffer is read so often, ``[Db..D0, count, out..]``,
    and without either once (c = 0). A read is linear, and out is the shape of the buffer; or, of buffers of static
    shape, affine: tile index = sum(i_d * ``stride``_d) for the indices i_d below ``out``, row-major over the buffer.
    The last token of a read has a stop of level len(out), raised by what follows the reference's element.

    >>> graph = Graph("streamify")
    >>> rows = graph.source("x", Tile(BF16, 4, 4), [3, 2]).bufferize()
    >>> rows.streamify(count=2).sink("twice")
    """

    count: int | None = None
    out: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None

    reads_buffers = True
    data = (DATA,)  # the reference only says how often to read

    def infer(self, inputs: tuple[StreamType, ...], names: Names) -> tuple[StreamType, ...]:
        expect(1 <= len(inputs) <= 2, f"streamify takes buffers and at most one reference, not {len(inputs)} streams")
        data, *references = inputs
        buffer = _buffer(data)
        outer = data.shape
        if references:
            (reference,) = references
            expect(self.count is None, "streamify takes a reference or a count, not both")
            expect(
                reference.shape[: len(outer)] == outer,
                f"the reference must begin with the dimensions of the buffers, {format_shape(outer)}, "
                f"but it is {format_shape(reference.shape)}{if_equal(outer, reference.shape[: len(outer)])}",
            )
            outer = reference.shape
        elif self.count is not None:
            expect(self.count >= 1, f"count must be at least 1, not {self.count}")
            outer = (*outer, dim(self.count))
        return (StreamType(buffer.tile, (*outer, *self._out(data.shape, buffer.shape, outer, names))),)

    def _out(self, buffers: Shape, buffer: Shape, outer: Shape, names: Names) -> Shape:
        """The dimensions of one read; read again and again, a ragged one has another total extent, which is the same
        for all that read such buffers as often."""
        if self.out is None or self.stride is None:
            expect(self.out is None and self.stride is None, "a read with strides needs out and stride")
            first, *inner = buffer  # which alone may be ragged
            if len(outer) > len(buffers):
                first = names.apart(first, ("streamify", buffers, outer, first), f"D{len(inner)}")
            return (first, *inner)
        expect(
            all(each.is_static for each in buffer),
            f"strides need a buffer of static shape, but this one is {format_shape(buffer)}; "
            "read it linearly, without out and stride",
        )
        tiles = prod(int(each) for each in buffer)
        check_walk(Walk(self.out, self.stride), tiles, f"the buffer {format_shape(buffer)} has {tiles} tiles")
        return shape(self.out)

    def walk(self) -> list[tuple[int, int]]:
        """Tile index and own stop level of every tile of an affine read."""
        assert self.out is not None and self.stride is not None
        walk = Walk(self.out, self.stride)
        return list(zip(walk, walk.stops, strict=True))

    def extra(self, node: Placed) -> int:
        """c: how many dimensions the reads of a buffer make."""
        data, *references = node.input_types
        return references[0].rank - data.rank if references else int(self.count is not None)

    def padding(self, node: Placed, inputs: Sequence[Padding]) -> tuple[Padding, ...]:
        given = inputs[0]
        if given is None:
            return (None,)
        inside = len(_buffer(node.input_types[0]).shape)
        outer = node.output_types[0].shape[len(node.input_types[0].shape) : -inside]
        again = None if self.out is not None else static_product(outer)
        alike = given.alike + len(outer) if given.alike >= inside else given.alike
        return (UNKNOWN if again is None else given.times(again, alike),)

    def process(self, node: Placed, around: Surroundings) -> Process:
        extra = self.extra(node)
        depth = node.output_types[0].rank - node.input_types[DATA].rank - extra
        referred = len(node.input_types) > 1
        done = False
        while not done:
            data = yield DATA
            own, last = self._references(data), False
            while not last:
                reference = (yield REFERENCE) if referred else next(own)
                last = reference.done or reference.stop >= extra
                outside = max(0, reference.rank - extra)
                agree = reference.done == data.done and outside == data.rank
                if not agree or (last and not data.done and reference.stop != data.stop + extra):
                    raise Violation(Fault.STOPS_DISAGREE)
                if reference.has_value:
                    for token in self._read(data.value):
                        whole = token.stop == depth
                        around.emit(0, token._replace(stop=depth + reference.stop) if whole else token)
                elif reference.done:
                    around.emit(0, reference)
                else:
                    around.emit(0, empty(reference.rank + depth, reference.stop + depth))
            done = data.done

    def _references(self, data: Token) -> Iterator[Token]:
        """Tokens of the reference that a buffer ``data`` has where there is none."""
        if self.count is None or data.done:
            yield data
        elif data.is_empty:
            yield empty(data.rank + 1, data.stop + 1)
        else:
            for index in range(self.count):
                yield Token(data.value, data.stop + 1 if index == self.count - 1 else 0)

    def _read(self, held: Sequence[Token]) -> Iterator[Token]:
        if self.out is None:
            yield from held
            return
        for index, level in self.walk():
            if index >= len(held):  # a promise about the shape was broken, which is told first
                raise Violation(Fault.WRONG_COUNT)
            yield Token(held[index].value, level)

    def on_chip_bytes(self, node: Placed, accounting: Accounting) -> sympy.Expr:
        if accounting == "paper":
            return sympy.Integer(0)
        return node.input_types[DATA].element.bytes + node.output_types[0].element.bytes


def _buffer(stream: StreamType) -> Buffer:
    return expect_element(stream.element, Buffer, "streamify reads buffers, which bufferize makes")


@stream_method
def streamify(
    stream: Stream,
    reference: Stream | None = None,
    *,
    count: int | None = None,
    out: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    name: str | None = None,
) -> Stream:
    """Read every buffer once per element of ``reference``, or ``count`` times, or once.

    ``out`` and ``stride`` are for affine reads; ``stride`` defaults to row-major order over ``out``.
    """
    if out is not None and stride is None:
        stride = [prod(out[position + 1 :]) for position in range(len(out))]
    operator = Streamify(count, None if out is None else tuple(out), None if stride is None else tuple(stride))
    return stream.graph.add(operator, [stream] if reference is None else [stream, reference], name=name)[0]


WEIGHT = 4


def sample(draft: Draft) -> None:
    """A buffer, read once, so often, or after a reference, in order or with strides."""
    if piece := draft.stored():
        (buffers, rank), random = draft.fill(piece), draft.random
        outer, dims = piece.stream.shape[:-rank], piece.stream.shape[-rank:]
        out, stride, reference, count = None, None, None, None
        if all(each.is_static and int(each) for each in dims) and draft.chance(0.6):
            out, stride = _strides(draft, prod(map(int, dims)))
        how = random.choice(["once", "count", "reference", "reference"])
        if how == "count":
            count = random.randint(1, 3)
        elif how == "reference" and not piece.timed:
            extra, element = random.randint(0, 2 if len(outer) + rank < HIGHEST_RANK - 1 else 1), draft.tile()
            inner = [draft.graph.symbol(draft.name("R"), ragged=True) for _ in range(extra)]

            def again(_: object) -> object:
                return draft.nested([None] * extra, element) if extra else draft.value(element)

            nested = inside(len(outer), again, piece.nested)
            reference = draft.read(draft.play("again", element, nested, [*outer, *inner]))
        draft.keep(buffers.streamify(reference, count=count, out=out, stride=stride), timed=piece.timed)


def _strides(draft: Draft, tiles: int) -> tuple[list[int], list[int]]:
    """Extents and strides of a read of up to four of the ``tiles`` of a buffer, which begins with the first one."""
    out = draft.random.choice([[1], [2], [3], [4], [2, 2]])
    stride = [draft.random.randint(0, 3) for _ in out]
    if Walk(tuple(out), tuple(stride)).bounds[1] >= tiles:
        stride = [0 for _ in out]
    return out, stride
