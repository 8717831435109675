"""Streams as the user holds them, with the operators as methods.

An operator's file adds its method with `stream_method`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Annotated, Any, TypeVar

from step.errors import ProgramError, TypeMismatch
from step.language.arguments import checked, tells_line
from step.language.dims import Dim, Shape
from step.language.fluent import StreamMethods
from step.language.operator import StreamType
from step.language.parameters import Within, settled
from step.language.types import ElementType, Tuple

Method = TypeVar("Method", bound=Callable[..., Any])

Hops = Annotated[int, Within(0, 1 << 10)]
"""Number of registers on the way through a channel."""


def stream_method(function: Method) -> Method:
    """Make ``function(stream, ...)`` callable as ``stream.function(...)``."""
    StreamMethods.add_method(function)
    return function


def _sign(method: str, *first: str, turned: bool = False) -> Callable[[Stream, Any], Stream]:
    """The method of a sign, which calls ``method``; ``turned``: the stream stands behind it."""

    @tells_line
    def sign(self: Stream, other: Any) -> Stream:
        return getattr(self.beside(other), method)(self) if turned else getattr(self, method)(*first, other)

    return sign


@dataclass(frozen=True, eq=False)
class Stream(StreamMethods):
    """Stream as one reader sees it; operators are its methods (docs/operators.md).

    Graphs make streams, and nobody else has to.

    ``graph``: the `Graph` that it is part of.
    ``producer``: name of the node that writes it.
    ``port``: number of that node's output.
    ``type``: element type and shape.
    ``depth``: slots of the reader's channel; None for the fabric's default.
    ``hops``: registers on the way through it; None for the fabric's default.

    >>> rows = Graph("rows").source("x", Tile(FP32, 1, 4), [3])
    >>> rows, rows.map(Add(), rows).element
    (<stream x: [3] of Tile(FP32, 1, 4)>, Tile(FP32, 1, 4))
    """

    graph: Any  # a `step.language.graph.Graph`, whose file imports this one
    producer: str
    port: int
    type: StreamType
    depth: int | None = None
    hops: int | None = None

    @property
    def element(self) -> ElementType:
        """Type of one value."""
        return self.type.element

    @property
    def shape(self) -> Shape:
        """Dimensions, outermost first."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """Number of dimensions, less one."""
        return self.type.rank

    @property
    def key(self) -> tuple[str, int]:
        """Identity of the stream in its graph, the same for all readers."""
        return self.producer, self.port

    @checked
    def buffered(self, depth: int) -> Stream:
        """The same stream for a reader whose channel has ``depth`` slots, at least 2."""
        return replace(self, depth=settled(depth, Annotated[int, Within(2)], "a channel's depth", ProgramError))

    @checked
    def distant(self, hops: int) -> Stream:
        """The same stream for a reader so many ``hops`` away: registers in its channel, each a cycle there and back."""
        return replace(self, hops=settled(hops, Hops, "a channel's hops", ProgramError))

    @checked
    def assume_shape(self, dims: Iterable[Dim | int]) -> Stream:
        """The stream with its symbols replaced by a known shape, which every run checks (see `Graph.refine`)."""
        return self.graph.refine(self, dims)

    __array_ufunc__ = None  # arrays leave ``array + stream`` to the stream

    __add__ = __radd__ = _sign("add")
    __sub__, __rsub__ = _sign("subtract"), _sign("subtract", turned=True)
    __mul__ = __rmul__ = _sign("multiply")
    __truediv__, __rtruediv__ = _sign("divide"), _sign("divide", turned=True)
    __matmul__, __rmatmul__ = _sign("matmul"), _sign("matmul", turned=True)
    __lt__, __le__ = _sign("compare", "<"), _sign("compare", "<=")
    __gt__, __ge__ = _sign("compare", ">"), _sign("compare", ">=")

    @tells_line
    def __neg__(self) -> Stream:
        return self.multiply(-1)

    @tells_line
    def __bool__(self) -> bool:
        raise TypeMismatch(
            f"{self} is a stream, whose values only a run has, so it is neither true nor false: if, while, and, or, "
            "not, any, all, sorted, Python's max and min, and a < x < b can not ask for that. Write "
            "(x > y).map(Where(), x, y) to choose, x.map(Max(), y) and x.map(Min(), y) for the larger and the smaller "
            "one, p.map(Where(), q, p) for p and q of BOOL, and partition(...) for two ways"
        )

    @tells_line
    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise TypeMismatch(
            f"{self} is a stream, whose values only a run has, so Python's ==, != and in can not compare it with "
            f'{other}: write x.compare("==", y), or x is y to ask whether two are one stream'
        )

    __hash__ = object.__hash__

    @checked
    def __getitem__(self, index: int) -> Stream:
        """Item ``index`` of every tuple of the stream."""
        return self.item_of(index)

    @checked
    def __iter__(self) -> Iterator[Stream]:
        """The streams of all items, so that a stream of tuples can be unpacked."""
        if not isinstance(self.element, Tuple):
            raise TypeMismatch(f"{self!r} can not be unpacked: only tuples have items")
        return map(self.item_of, range(len(self.element.items)))

    def __str__(self) -> str:
        return self.graph.stream_name(self.producer, self.port)

    def __repr__(self) -> str:
        return f"<stream {self}: {self.type}>"

    def _repr_svg_(self) -> str | None:
        """The picture that notebooks show: its type, and the last operators that lead to it."""
        return import_module("step.programs.pictures.drawing").picture(self)  # of a later room
