"""Insert a Broadcast wherever a stream has several readers, and resolve feedback edges."""

from __future__ import annotations

from step.language.graph import Graph, Node
from step.language.stream import Stream
from step.ops.broadcast import Broadcast


def insert_broadcasts(graph: Graph) -> Graph:
    """The same program in which every stream has at most one reader.

    Copies are handed out in the order in which the readers were placed. A reader's channel depth stays with its copy.
    """
    result = Graph(graph.name, tensors=graph.tensors, symbols=graph.symbols, refinements=graph.refinements)
    copies: dict[tuple[str, int, str, int], tuple[str, int]] = {}
    readers = graph.readers()
    for node in graph:
        result.nodes[node.name] = node
        for port, output in enumerate(node.output_types):
            reading = readers[node.name, port]
            if len(reading) < 2:
                continue
            name = f"{graph.stream_name(node.name, port).replace('.', '_')}_broadcast"
            while name in graph.nodes:
                name += "_"
            source = Stream(result, node.name, port, output)
            result.nodes[name] = Node(name, Broadcast(len(reading)), (source,), (output,) * len(reading), node.location)
            for copy, (reader, reader_port) in enumerate(reading):
                copies[node.name, port, reader.name, reader_port] = name, copy
    for name, node in result.nodes.items():
        if name in graph.nodes:
            inputs = []
            for port, stream in enumerate(node.inputs):
                origin = graph.resolve(stream)
                producer = copies.get((*origin.key, name, port), origin.key)
                inputs.append(Stream(result, *producer, origin.type, stream.depth))
            result.nodes[name] = Node(name, node.operator, tuple(inputs), node.output_types, node.location)
    return result
