"""A program that fails made smaller, as long as it fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from step.errors import StepError
from step.language.dims import Dim, dim
from step.language.graph import Graph, Node
from step.language.tokens import Token, from_nested, to_nested
from step.language.types import Buffer
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.program import Program
from step.running.interpreter import interpret
from step_check.fuzz.rebuild import Changes, Key, rebuilt
from step_check.samples.contents import Contents

Edit = Callable[[Program], Changes]


def shrink(program: Program, fails: Callable[[Program], bool], *, tries: int = 1000) -> Iterator[Program]:
    """Ever smaller programs for which ``fails`` is true, the last one such that no edit makes it smaller.

    At most ``tries`` programs are tried.
    """
    smaller = True
    while smaller:
        smaller = False
        for edits in (prefixes, outputs, heads, cuts, splits, bypasses, entries):
            for edit in list(edits(program)):
                try:
                    candidate = rebuilt(program, edit(program))
                    if size(candidate) >= size(program):
                        continue
                except (StepError, ValueError, LookupError):  # no program: what the edit needs is not there
                    continue
                if tries == 0:
                    return
                tries -= 1
                if fails(candidate):
                    program, smaller = candidate, True
                    yield program


def size(program: Program) -> tuple[int, int, int]:
    """Operators that are neither sources nor sinks, all operators, and tokens of sources."""
    nodes = list(program.graph)
    work = sum(_works(each) and not each.operator.hands_out for each in nodes)
    return work, len(nodes), sum(len(tokens) for tokens in _bound(program).streams.values())


def prefixes(program: Program) -> Iterator[Edit]:
    """One stream is the only output; those that come first in front."""
    for stream in program.graph.streams():
        yield partial(lambda key, now: Changes(without=_ends(now.graph), sinks=(key,)), stream.key)


def outputs(program: Program) -> Iterator[Edit]:
    """One output less."""
    for name in _ends(program.graph):
        yield partial(lambda name, _: Changes(without=frozenset([name])), name)


def heads(program: Program) -> Iterator[Edit]:
    """The inputs of the last operator in front of an output are outputs instead."""
    ends, readers = _ends(program.graph), program.graph.readers()
    for node in program.graph:
        behind = {each.name for port in range(len(node.output_types)) for each, _ in readers[node.name, port]}
        if behind <= ends:
            gone = frozenset([*behind, node.name])
            yield partial(lambda gone, node, now: Changes(without=gone, sinks=_read(now.graph, node)), gone, node)


def cuts(program: Program) -> Iterator[Edit]:
    """A source plays what an operator, or a feedback edge, sends; those next to the outputs first."""
    made = [_outputs(node) for node in program.graph if _works(node)]
    for keys in (*reversed(made), *([(name, 0)] for name in program.graph.feedbacks)):
        if keys:
            yield partial(lambda keys, now: Changes(played=_played(now, keys)), keys)


def splits(program: Program) -> Iterator[Edit]:
    """The inputs of an operator are outputs, and a source plays what it sends."""
    for node in program.graph:
        if node.output_types and node.inputs:
            yield partial(
                lambda node, now: Changes(played=_played(now, _outputs(node)), sinks=_read(now.graph, node)), node
            )


def bypasses(program: Program) -> Iterator[Edit]:
    """The readers of an operator read one of its inputs instead."""
    for node in program.graph:
        for key, kind in zip(_outputs(node), node.output_types, strict=True):
            for each in node.inputs:
                if each.type == kind:
                    yield partial(lambda key, other, _: Changes(instead={key: other}), key, each.key)


def entries(program: Program) -> Iterator[Edit]:
    """Entries of a dimension less, in all sources that have it, or in one."""
    bound = _bound(program)
    longest: dict[tuple[str, Dim], int] = {}
    for node in program.graph.sources():
        if given := node.operator.given():
            nested = to_nested(bound.streams[node.name], given.rank)
            for level, each in enumerate(given.shape):
                extent = max(map(len, _lists(nested, level)), default=0)
                for name in (node.name, ""):
                    longest[name, each] = max(extent, longest.get((name, each), 0))
    for (name, each), extent in sorted(longest.items(), key=lambda pair: pair[0][0]):
        count = extent
        while count:
            yield from (_less(name, each, start, count) for start in range(extent - count, -1, -count))
            count = count // 2 if count > 12 else count - 1  # an extent may be a multiple of something


def _less(name: str, dimension: Dim, start: int, count: int) -> Edit:
    """``count`` entries of ``dimension`` less, in the source ``name`` or, without a name, in all."""

    def edit(now: Program) -> Changes:
        shapes, data, bound = {}, {}, _bound(now)
        for node in now.graph.sources():
            given = node.operator.given()
            if given is not None and dimension in given.shape and name in ("", node.name):
                shape = list(given.shape)
                nested = to_nested(bound.streams[node.name], len(shape) - 1)
                for level, each in enumerate(shape):
                    if each == dimension:
                        for entries in _lists(nested, level):
                            del entries[start : start + count]
                        shape[level] = dim(int(each) - count) if each.is_static else each
                shapes[node.name], data[node.name] = tuple(shape), from_nested(nested, len(shape) - 1)
        return Changes(shapes=shapes, data=data)

    return edit


def _lists(nested: list[Any], level: int) -> Iterable[list[Any]]:
    """All lists that lie ``level`` levels deep."""
    return [nested] if level == 0 else [inner for each in nested for inner in _lists(each, level - 1)]


def _read(graph: Graph, node: Node) -> tuple[Key, ...]:
    """The streams that ``node`` reads; what fills them in the place of references to buffers."""
    found: list[Key] = []
    for each in node.inputs:
        buffers = isinstance(each.element, Buffer)
        found += _read(graph, graph.nodes[each.producer]) if buffers else [each.key]
    return tuple(found)


def _works(node: Node) -> bool:
    return node.operator.given() is None


def _outputs(node: Node) -> list[Key]:
    return [(node.name, port) for port in range(len(node.output_types))]


def _ends(graph: Graph) -> frozenset[str]:
    """The nodes that make outputs."""
    return frozenset(node.name for node in graph if node.operator.ends_run)


def _name(graph: Graph, key: Key) -> str:
    """The name of a stream, or of what feeds the feedback edge."""
    producer, port = key
    if producer in graph.feedbacks:
        return str(graph.resolve(graph.feedbacks[producer].stream))
    return graph.stream_name(producer, port)


def _played(program: Program, keys: list[Key]) -> dict[Key, list[Token]]:
    """Tokens of the streams ``keys``."""
    carried = _carried(program)
    return {key: carried[_name(program.graph, key)] for key in keys}


def _bound(program: Program) -> BoundInputs:
    return bind_inputs(program.graph, program.inputs)


def _carried(program: Program) -> dict[str, list[Token]]:
    """Tokens of the streams; only of those in front of the fault where the program has one."""
    bound = _bound(program)
    try:
        return interpret(program.graph, bound, record=True).streams
    except StepError:
        contents = Contents({name: list(each) for name, each in bound.streams.items()}, dict(bound.tensors))
        for node in program.graph:
            contents.add(program.graph, node)
        return contents.streams
