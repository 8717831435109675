"""Symbols get their values here, by name, from the streams of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from numbers import Integral
from operator import itemgetter

import sympy

from step.errors import InputError, StreamFault, UnboundSymbol
from step.host.nearest import among
from step.language.checker import StreamChecker
from step.language.dims import Dim, DimKind, of_all
from step.language.graph import Graph
from step.language.operator import StreamType
from step.language.stream import Stream
from step.language.types import Tile


def measure(graph: Graph, checkers: Mapping[str, StreamChecker]) -> dict[str, int]:
    """Values of the symbols as the ``checkers`` of streams of a run saw them.

    Raises `StreamFault` where a dynamic-regular symbol has several extents, or a derived dimension is not what its
    expression says. A symbol that no tensor showed is 0.
    """
    values, shown, seen = dict.fromkeys(graph.symbols, 0), set[sympy.Symbol](), _seen(graph, checkers)
    for stream, dim, extents, total in seen:
        if dim.extent.is_Symbol and dim.is_ragged:
            values[str(dim)] = total
        elif dim.extent.is_Symbol and len(extents) > 1:
            raise StreamFault(f"stream {stream}: the dimension {dim} must have one extent, but has {sorted(extents)}")
        elif dim.extent.is_Symbol:
            (values[str(dim)],) = extents
            shown.add(dim.extent)
    for stream in graph.streams():
        for side, dim, symbol in _tile_dims(stream.type) if str(stream) in checkers else ():
            if symbol.is_Symbol and not values[str(symbol)]:
                checker = checkers[str(stream)]
                most = max(checker.tile_extents[side], default=0)
                values[str(symbol)] = checker.tile_totals[side] if dim.is_ragged else most
    regular = [(stream, dim, extents) for stream, dim, extents, _ in seen if dim.kind is DimKind.DYNAMIC]
    for _, dim, extents in regular:
        _solve(dim, min(extents), values, shown)
    expected_of = cache(lambda dim: int(evaluate(dim.extent, values, graph)))  # many streams have dimensions alike
    for stream, dim, extents in regular:
        if dim.extent.free_symbols <= shown and extents != {expected := expected_of(dim)}:
            raise StreamFault(f"stream {stream}: the dimension {dim} should be {expected}, but is {sorted(extents)}")
    return values


def determined(graph: Graph, checkers: Mapping[str, StreamChecker]) -> dict[str, int]:
    """`measure`; raises `UnboundSymbol`, too, where data shows only a sum or a product of several symbols."""
    values = measure(graph, checkers)
    seen = ((dim, extents) for _, dim, extents, _ in _seen(graph, checkers) if dim.kind is DimKind.DYNAMIC)
    for dim, extents in dict.fromkeys((dim, frozenset(extents)) for dim, extents in seen):
        if {evaluate(dim.extent, values, graph)} != extents:
            names = ", ".join(sorted(str(each) for each in dim.extent.free_symbols))
            raise UnboundSymbol(f"the data shows that {dim} is {min(extents)}, but not what each of {names} is")
    return values


def _seen(graph: Graph, checkers: Mapping[str, StreamChecker]) -> list[tuple[Stream, Dim, set[int], int]]:
    """The dimensions of streams that are not static, with the extents that tensors showed, if any, and their total."""
    return [
        (stream, dim, checkers[str(stream)].extents[level], checkers[str(stream)].totals[level])
        for stream in graph.streams()
        if str(stream) in checkers
        for level, dim in enumerate(reversed(stream.shape))
        if not dim.is_static and checkers[str(stream)].extents[level]
    ]


def showing(streams: Iterable[Stream]) -> dict[str, list[Stream]]:
    """By symbol those of ``streams`` that show its value: the first that has it as a dimension, or else as that of all
    its tiles, or else all in whose dimensions it is."""
    alone, of_tiles, within = dict[str, Stream](), dict[str, Stream](), dict[str, list[Stream]]()
    for stream in streams:
        for dim in stream.shape:
            if dim.extent.is_Symbol:
                alone.setdefault(str(dim.extent), stream)
            for _, name in _symbols(dim.extent):
                within.setdefault(name, []).append(stream)
        for _, _, whole in _tile_dims(stream.type):
            if whole.is_Symbol:
                of_tiles.setdefault(str(whole), stream)
    return {**within, **{name: [each] for name, each in {**of_tiles, **alone}.items()}}


def _tile_dims(stream: StreamType) -> Iterator[tuple[int, Dim, sympy.Expr]]:
    """The dimensions of tiles that are not static, with their place; and ragged ones as those of all tiles together."""
    if isinstance(stream.element, Tile):
        for side, dim in enumerate((stream.element.rows, stream.element.cols)):
            if not dim.is_static:
                yield side, dim, of_all(dim.extent, stream.count) if dim.is_ragged else dim.extent


def _solve(dim: Dim, extent: int, values: dict[str, int], shown: set[sympy.Symbol]) -> None:
    """Note the only symbol of ``dim`` that no stream has shown yet, where it follows from ``extent``."""
    unknown = dim.extent.free_symbols - shown
    if len(unknown) != 1:
        return
    (symbol,) = unknown
    rest = dim.extent.subs({each: values[str(each)] for each in dim.extent.free_symbols & shown})
    slope = rest.coeff(symbol)
    if not slope:
        return
    value = (extent - (rest - slope * symbol)) / slope
    if value.is_number:
        # Rounded: what has another extent is told with the one that it should have.
        values[str(symbol)] = max(0, int(sympy.floor(value)))
        shown.add(symbol)


def evaluate(expression: sympy.Expr, values: Mapping[str, int], graph: Graph) -> sympy.Expr:
    """``expression`` with all its symbols replaced; raises `UnboundSymbol` for those without a value."""
    missing = [name for _, name in _symbols(expression) if name not in values]
    if missing:
        born = "\n".join(f"  {name}: from {graph.symbols[name].of!r} ({graph.symbols[name].born})" for name in missing)
        raise UnboundSymbol(f"these symbols have no value; bind them with NAME=VALUE or give input data:\n{born}")
    return replaced(expression, values)


def replaced(expression: sympy.Expr, values: Mapping[str, int]) -> sympy.Expr:
    """``expression`` with numbers for the symbols that have ``values``: all at once, as programs have thousands."""
    numbers = {each: sympy.Integer(values[name]) for each, name in _symbols(expression) if name in values}
    return expression.xreplace(numbers)


@lru_cache(maxsize=1 << 14)  # many streams have extents alike
def _symbols(expression: sympy.Expr) -> tuple[tuple[sympy.Basic, str], ...]:
    """Symbols of ``expression``, in the order of their names."""
    return tuple(sorted(((each, str(each)) for each in expression.free_symbols), key=itemgetter(1)))


def check_values(values: Mapping[str, int], graph: Graph) -> None:
    """Raise `UnboundSymbol` for names that are no symbols of ``graph``, `InputError` for impossible extents."""
    if not isinstance(values, Mapping):
        raise InputError(f"values of symbols must be a dictionary, such as {{'N': 3}}, not {values!r}")
    for name, value in values.items():
        if name not in graph.symbols:
            raise UnboundSymbol(f"the program has no symbol {name!r}; {among(name, graph.symbols)}")
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
            raise InputError(f"symbol {name!r} must be an integer >= 0, not {value!r}")
