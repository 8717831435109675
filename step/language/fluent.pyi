"""Operators as methods, for editors and type checkers. Written by ``python -m step.cli.stubs``; do not edit."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from step.language.dims import Dim
from step.language.function import AccumFunction, FlatMapFunction, MapFunction
from step.language.graph import Tensor
from step.language.stream import Stream
from step.ops.reassemble import Order
from step.ops.source import ElementType

class Fluent:
    noun: ClassVar[str]
    methods: ClassVar[dict[str, Callable[..., Any]]]
    @classmethod
    def add_method(cls, function: Callable[..., Any]) -> None: ...

class StreamMethods(Fluent):
    def accum(self, function: AccumFunction, *others: Stream, rank: int = 1, name: str | None = None) -> Stream:
        """Reduce the inner ``rank`` dimensions of this stream and ``others``, which have the same shape."""
    def expand(self, reference: Stream, *, rank: int = 1, name: str | None = None) -> Stream:
        """Repeat each element per element of ``reference``, whose inner ``rank`` dimensions are 1 in this stream."""
    def expand_static(self, count: int, *, name: str | None = None) -> Stream:
        """Repeat each element ``count`` times: the innermost dimension, 1, becomes ``count``."""
    def flat_map(self, function: FlatMapFunction, *others: Stream, name: str | None = None) -> Stream:
        """Replace every element, with those of ``others`` of the same shape, by a stream that ``function`` makes."""
    def flatten(self, low: int, high: int, *, name: str | None = None) -> Stream:
        """Merge dimensions ``low`` to ``high``, counted from the innermost one (0)."""
    def load_random(self, tensor: Tensor, *, tile: Sequence[int], name: str | None = None) -> Stream:
        """Read the tile of ``tensor`` at every address, in tiles of ``tile`` (rows, cols)."""
    def map(self, function: MapFunction, *others: Stream, name: str | None = None) -> Stream:
        """Apply ``function`` to the elements of this stream and ``others``, which have the same shape."""
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
    def scan(
        self, function: AccumFunction, *others: Stream, rank: int = 1, exclusive: bool = False, name: str | None = None
    ) -> Stream:
        """Reduce the inner ``rank`` dimensions of this stream and ``others`` of the same shape, and show every state.

        That after an element stands in its place, or with ``exclusive`` that before it.
        """
    def sink(self, name: str) -> None:
        """Make the stream an output of the program."""
    def store(self, name: str) -> None:
        """Write the tiles to off-chip memory as the program's output ``name``."""
    def store_random(self, tensor: Tensor, addresses: Stream, *, name: str | None = None) -> Stream:
        """Write every tile of ``data`` into ``tensor`` at its address; returns the acknowledgements."""
    def zip(self, *others: Stream, name: str | None = None) -> Stream:
        """Tuples of this stream's elements and those of ``others``."""

class GraphMethods(Fluent):
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
