"""Conditions on a whole graph before any back end takes it."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from step.errors import GraphError, expect
from step.language.graph import Graph
from step.language.ordering import check_stored, unordered


def check(graph: Graph) -> list[str]:
    """Check ``graph``; returns warnings.

    Raises `GraphError` for streams that nobody writes, feedback edges that are not closed, cycles that no declared
    feedback edge cuts, and tensors that are stored and cut in two ways.
    """
    for node in graph:
        for port, stream in enumerate(node.inputs):
            if (origin := graph.resolve(stream).producer) not in graph.nodes:
                raise GraphError(f"{node.describe()}: input {port} reads {origin!r}, which nobody writes")
    _check_cycles(graph)
    check_stored(graph)
    return [*_papercuts(graph), *unordered(graph)]


def check_outputs(graph: Graph) -> None:
    """Raise `GraphError` for a graph that nothing leaves: there is nothing to run."""
    expect(graph.nodes, f"program {graph.name!r} has no operators", GraphError)
    if not any(node.operator.ends_run for node in graph):
        raise GraphError(
            f"program {graph.name!r} has no output, so there is nothing to run for; end a stream with .sink(NAME) or "
            ".store(NAME)"
        )


def _check_cycles(graph: Graph) -> None:
    behind = {
        node.name: [stream.producer for stream in node.inputs if stream.producer not in graph.feedbacks]
        for node in graph
    }
    try:
        TopologicalSorter(behind).prepare()
    except CycleError as error:
        names = error.args[1][1:]
    else:
        return
    first = names.index(min(names, key=list(graph.nodes).index))
    path = "\n".join(f"  {graph.nodes[name].describe()}" for name in [*names[first:], *names[:first]])
    raise GraphError(f"these operators form a cycle without a declared feedback edge:\n{path}")


def _papercuts(graph: Graph) -> Iterator[str]:
    for (producer, port), readers in graph.readers().items():
        node = graph.nodes[producer]
        if not readers and node.operator.outputs[port] not in node.operator.optional_outputs:
            yield f"{node.describe()}: nobody reads {graph.stream_name(producer, port)}; its tokens are dropped"
