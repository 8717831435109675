"""Tensors that a program stores, and reads: how they are cut, and what comes first."""

from __future__ import annotations

from collections.abc import Iterator

from step.errors import GraphError
from step.language.graph import Graph
from step.language.tiling import accessed, accesses, stored


def check_stored(graph: Graph) -> None:
    """Raise `GraphError` where a tensor that is stored is cut in two ways, or has the name of another output."""
    for tensor in stored(graph):
        found = [(node, access.tile) for node in graph if (access := accessed(node)) and access.tensor == tensor]
        (first, cut), *others = found
        for node, tile in others:
            if tile != cut:
                raise GraphError(
                    f"tensor {tensor!r} is stored, so all must cut it into the same tiles: {first.describe()} has "
                    f"{cut}, {node.describe()} has {tile}"
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
        stores, loads = (
            [node for node, access in accesses(graph, writes=writes) if access.tensor == tensor]
            for writes in (True, False)
        )
        for store in stores:
            ordered = networkx.descendants(behind, store.name) | networkx.ancestors(behind, store.name)
            for load in loads:
                if load.name not in ordered:
                    yield (
                        f"{load.describe()} reads tensor {tensor!r}, which {store.describe()} writes, "
                        "and does not wait for its acknowledgements: what it reads depends on timing"
                    )
