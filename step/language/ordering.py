"""Tensors that a program stores, and reads: how they are cut, and what comes first."""

from __future__ import annotations

from collections.abc import Iterator

from step.errors import GraphError
from step.language.graph import Graph, Node
from step.language.operator import Access
from step.language.tiling import accessed, stored


def check_stored(graph: Graph) -> None:
    """Raise `GraphError` where a tensor that is stored is cut in two ways, or has the name of another output."""
    for tensor in stored(graph):
        first, *others = _accessing(graph, tensor)
        for node, access in others:
            if access.tile != first[1].tile:
                raise GraphError(
                    f"tensor {tensor!r} is stored, so all must cut it into the same tiles: {first[0].describe()} has "
                    f"{first[1].tile}, {node.describe()} has {access.tile}"
                )
        if tensor in graph.nodes:
            raise GraphError(
                f"tensor {tensor!r} is stored, so it is an output, but {graph.nodes[tensor].describe()} has its name; "
                "rename one"
            )


def unordered(graph: Graph) -> Iterator[str]:
    """A warning for every store and load of one tensor of which neither waits for the other.

    A load waits for acknowledgements, and a store for what it is made of: a tile may be read, changed and stored.
    """
    if not stored(graph):
        return
    import networkx  # which takes a while

    edges = [(graph.resolve(stream).producer, node.name) for node in graph for stream in node.inputs]
    behind = networkx.DiGraph(edges)
    behind.add_nodes_from(node.name for node in graph)
    for tensor in stored(graph):
        places = _accessing(graph, tensor)
        for store in (node for node, _ in places if node.operator.writes(node) is not None):
            ordered = networkx.descendants(behind, store.name) | networkx.ancestors(behind, store.name)
            for load in (node for node, _ in places if node.operator.reads(node) is not None):
                if load.name not in ordered:
                    yield (
                        f"{load.describe()} reads tensor {tensor!r}, which {store.describe()} writes, "
                        "and does not wait for its acknowledgements: what it reads depends on timing"
                    )


def _accessing(graph: Graph, tensor: str) -> list[tuple[Node, Access]]:
    """The operators that read or write ``tensor``, in order."""
    found = ((node, accessed(node)) for node in graph)
    return [(node, access) for node, access in found if access is not None and access.tensor == tensor]
