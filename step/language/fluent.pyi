"""Operators as methods, for editors and type checkers. Written by ``python -m tables``; do not edit."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from step.language.dims import Dim
from step.language.dtypes import BF16, UINT32, DType
from step.language.function import AccumFunction, FlatMapFunction, MapFunction
from step.language.graph import Tensor
from step.language.stream import Stream
from step.language.types import Selector, Tile
from step.ops.generate import Targets
from step.ops.reassemble import Order
from step.ops.source import ElementType

HOMES: tuple[str, ...]

class Fluent:
    noun: ClassVar[str]
    methods: ClassVar[dict[str, Callable[..., Any]]]
    @classmethod
    def add_method(cls, function: Callable[..., Any]) -> None: ...

class StreamMethods(Fluent):
    def accum(self, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
        """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    def add(self, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
        """``stream + other``, scalar by scalar (`step.functions.Add`); ``other`` is a stream, or a value as of `beside`."""
    def along(self, reference: Stream, *, name: str | None = None) -> Stream:
        """``[..]`` of anything -> ``[.., n]``, the shape of ``reference``: every element as often as that has some.

        So a query meets all keys of its request, and a sum all terms.
        """
    def beside(self, value: Any, *, name: str | None = None) -> Stream:
        """A number, or an array as a tile, for every element of a stream of tiles, in the format of these.

        A tensor of the graph, of two dimensions, is one tile in its own format, read again for every element.

        Raises `TypeMismatch` for other streams, and for what their format does not have.
        """
    def bufferize(self, *, rank: int = 1, name: str | None = None) -> Stream:
        """Collect the inner ``rank`` dimensions in on-chip memory; ``streamify`` reads them."""
    def compare(self, relation: str, other: Any, *, name: str | None = None) -> Stream:
        """Whether ``stream relation other``, as ``stream > other``, scalar by scalar (`step.functions.Compare`)."""
    def divide(self, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
        """``stream / other``, scalar by scalar (`step.functions.Div`)."""
    def expand(self, reference: Stream, *, rank: int = 1, name: str | None = None) -> Stream:
        """Repeat each element per element of ``reference``, whose inner ``rank`` dimensions are 1 in this stream."""
    def expand_static(self, count: int, *, name: str | None = None) -> Stream:
        """Repeat each element ``count`` times: the innermost dimension, 1, becomes ``count``."""
    def flat_map(self, function: FlatMapFunction, *others: Stream, name: str | None = None) -> Stream:
        """Replace every element, with those of ``others`` of the same shape, by a stream that ``function`` makes."""
    def flatten(self, low: int, high: int, *, name: str | None = None) -> Stream:
        """Merge dimensions ``low`` to ``high``, counted from the innermost one (0)."""
    def item_of(self, index: int, *, name: str | None = None) -> Stream:
        """Item ``index`` of every tuple; ``stream[index]`` is the same."""
    def keep(self, selector: Stream, *, name: str | None = None) -> Stream:
        """``[.., n]`` -> ``[.., m]``: the elements for which the ``selector`` [.., n], of one target, selects it.

        So a row is shorter, or empty; ``partition`` alone forgets what rows there were.
        """
    def load_random(self, tensor: Tensor, *, tile: Sequence[int], name: str | None = None) -> Stream:
        """Read the tile of ``tensor`` at every address, in tiles of ``tile`` (rows, cols)."""
    def map(self, function: MapFunction, *others: Stream, name: str | None = None) -> Stream:
        """Apply ``function`` to the elements of this stream and ``others``, which have the same shape."""
    def matmul(self, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
        """``stream @ other``, tile by tile (`step.functions.Matmul`).

        With fused sums it is ``stream.map(Matmul(sum="fused"), stream.beside(other))``.
        """
    def multiply(self, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
        """``stream * other``, scalar by scalar (`step.functions.Mul`; times a number: `step.functions.Scale`)."""
    def partition(
        self, selector: Stream, *, targets: int, rank: int = 0, name: str | None = None
    ) -> tuple[Stream, ...]:
        """Route chunks of rank ``rank`` to ``targets`` streams as ``selector`` says."""
    def promote(self, *, name: str | None = None) -> Stream:
        """Wrap the whole stream into one more dimension of extent 1 (0 for an empty stream)."""
    def repeat(self, count: int, *, name: str | None = None) -> Stream:
        """``[.., D0]`` -> ``[.., D0, count]``: short for a Reshape into chunks of one and a static Expand."""
    def reshape(self, chunk: int, *, pad: float = 0.0, rank: int = 0, name: str | None = None) -> tuple[Stream, Stream]:
        """Chunks of ``chunk`` elements, or tensors of ``rank``, and the stream that marks padding."""
    def rows(self, of: Stream | int | Dim | None = None, *, name: str | None = None) -> Stream:
        """``[.., n]`` of tiles ``[r, columns]`` -> ``[.., n * r]`` of their rows ``[1, columns]``.

        ``of``: how many rows there are in the innermost dimension, or a stream of as many, where the types do not tell;
        every run checks it. A stream of a dimension more, ``[.., n, r]``, has the rows of a tile in that: so
        ``x.tiles().rows(of=x)`` has the shape of x.
        """
    def scan(
        self, function: AccumFunction, *others: Stream, rank: int = 1, exclusive: bool = False, name: str | None = None
    ) -> Stream:
        """Reduce the inner ``rank`` dimensions of this stream and ``others`` of the same shape, and show every state.

        That after an element stands in its place, or with ``exclusive`` that before it.
        """
    def sink(self, name: str) -> None:
        """Make the stream an output of the program."""
    def store(self, name: str, *, tile: Sequence[int] | None = None) -> None:
        """Write the tiles to off-chip memory as the program's output ``name``.

        ``tile`` (rows, cols) says how large they are there; only tiles of dynamic size need it, and have to have its rows.
        """
    def store_random(
        self, tensor: Tensor, addresses: Stream, *, tile: Sequence[int] | None = None, name: str | None = None
    ) -> Stream:
        """Write every tile of ``data`` into ``tensor`` at its address; returns the acknowledgements.

        ``tile`` (rows, cols) says how the tensor is cut; only tiles of dynamic size need it, and have to have its rows.
        """
    def streamify(
        self,
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
    def subtract(self, other: Any, *, out: DType | str | None = None, name: str | None = None) -> Stream:
        """``stream - other``, scalar by scalar (`step.functions.Sub`)."""
    def tiles(self, rows: int | None = None, *, name: str | None = None) -> Stream:
        """``[.., n]`` of tiles ``[r, columns]`` -> ``[.., ceil(n / rows)]`` of tiles ``[rows * r, columns]``.

        Always ``rows`` tiles lie below each other in one; what lacks to the last one is filled up with zeros. Without
        ``rows`` it is one tile with all of them, of as many rows as there are: ``[..]``, and ``[1 if n > 0 else 0]`` for a
        stream of rank 0.
        """
    def until(self, selector: Stream, *, name: str | None = None) -> Stream:
        """The tensors of this stream up to the first one whose ``selector`` selects nothing."""
    def zip(self, *others: Stream, name: str | None = None) -> Stream:
        """Tuples of this stream's elements and those of ``others``."""

class GraphMethods(Fluent):
    def constant(
        self,
        value: Any,
        dims: Sequence[int] = (),
        *,
        dtype: DType | str = BF16,
        reference: Stream | None = None,
        name: str | None = None,
    ) -> Stream:
        """A stream of the same tile everywhere: ``value`` is a number or a matrix, which ``dtype`` may round.

        Raises `TypeMismatch` for numbers that ``dtype`` does not have.
        """
    def count(
        self,
        dims: Sequence[int] = (),
        *,
        start: int = 0,
        step: int = 1,
        dtype: DType | str = UINT32,
        reference: Stream | None = None,
        name: str | None = None,
    ) -> Stream:
        """A stream ``[*dims]`` of integers from ``start`` on, or ``[*reference, *dims]`` where each element begins again.

        Without ``dims`` it numbers the elements of the reference; behind the last integer of ``dtype`` comes ``start``.
        """
    def eager_merge(self, inputs: Sequence[Stream], *, rank: int = 0, name: str | None = None) -> tuple[Stream, Stream]:
        """The chunks of rank ``rank`` of all ``inputs`` as they come, and selectors that tell where each is from."""
    def generate(
        self,
        element: Tile | Selector,
        values: Sequence[Any] | range,
        dims: Sequence[int] = (),
        *,
        before: Sequence[Any] = (),
        behind: Sequence[Any] = (),
        reference: Stream | None = None,
        name: str | None = None,
    ) -> Stream:
        """A stream ``[*dims]``, or ``[*reference, *dims]``, of the ``values``, again and again (see `Generate`).

        A value is the mask of a selector, or the rows of a tile, as lists or as an array; a number is a tile of one scalar,
        and a list of numbers one of a single row.
        """
    def load(
        self,
        tensor: Tensor,
        *,
        tile: Sequence[int],
        out: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        offset: int = 0,
        reference: Stream | None = None,
        name: str | None = None,
    ) -> Stream:
        """Read ``tensor`` in tiles of ``tile`` (rows, cols), once or per element of ``reference``.

        ``out`` defaults to the whole tiled tensor and ``stride`` to row-major order.
        """
    def merge(
        self,
        parts: Sequence[Stream],
        selector: Stream,
        *,
        rank: int = 0,
        room: int | None = None,
        name: str | None = None,
    ) -> Stream:
        """The opposite of ``partition`` for a ``selector`` [.., n] that names one target each: chunks in their order.

        ``parts`` are streams [n_i, *chunk] of chunks of ``rank``; the result is [.., n, *chunk], which every run checks.
        ``room``: slots of the channels of all parts and of the selectors, where some wait for others.
        """
    def reassemble(
        self,
        inputs: Sequence[Stream],
        selector: Stream,
        *,
        rank: int = 0,
        order: Order = "arrival",
        name: str | None = None,
    ) -> Stream:
        """Gather, per selector, one chunk of rank ``rank`` from each of the ``inputs`` that it names."""
    def selectors(self, name: str, targets: int, dims: Iterable[Dim | int]) -> Stream:
        """A stream of multi-hot selectors over ``targets`` targets, from the inputs under ``name``.

        The data may be target indices, integers ``[*dims]`` (one each) or ``[*dims, k]`` (several each, also as lists of
        different lengths); multi-hot rows, booleans ``[*dims, targets]``; or ``step.masks(values)``, integers ``[*dims]``
        in which bit i stands for target i. Lists, tuples and arrays of the same content mean the same; rows of integers
        that could be indices or multi-hot rows are refused (docs/inputs.md).
        """
    def source(self, name: str, element: ElementType, dims: Iterable[Dim | int]) -> Stream:
        """A stream of ``element`` and shape ``dims`` whose tokens come from the inputs under ``name``."""
    def turns(
        self,
        targets: int,
        order: Targets | None = None,
        dims: Sequence[int] | None = None,
        *,
        reference: Stream | None = None,
        name: str | None = None,
    ) -> Stream:
        """Selectors over ``targets`` targets in a fixed ``order``, again and again; by default each target in its turn.

        ``order`` has the index of a target, or the indices of several, for each selector. Without ``dims`` there are as
        many as ``order`` has, or with a reference one for each of its elements.
        """
