"""From a program to contexts and channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim_published.compiled import fastest
from sim_published.engine import Context, ContextEngine, TimedFifo
from sim_published.ops import module_of, trait
from sim_published.profile import PublishedProfile
from sim_published.site import ContextSite, is_known
from step.errors import FabricError, InputError
from step.language.graph import Graph, Node
from step.language.tokens import Token
from step.lowering.netlist import insert_broadcasts
from step.programs.data.inputs import BoundInputs, bind_stream

UNBOUNDED = 1 << 62


@dataclass(frozen=True)
class ContextGraph:
    """A program that is ready to run once; ``slow``: why its memory is not compiled, if it is not."""

    graph: Graph
    engine: ContextEngine
    channels: dict[str, TimedFifo]
    slow: str | None


def build(program: Graph, inputs: Mapping[str, Any] | BoundInputs, profile: PublishedProfile) -> ContextGraph:
    """A context for every operator, a channel for every stream and reader, as ``profile`` says.

    Only the streams of ``inputs`` are used: what tensors hold decides nothing. Raises `FabricError` for what the
    published simulator does not have.
    """
    graph = insert_broadcasts(program)
    given = _streams(program, inputs)
    nodes = list(graph)
    ports = _memory_ports(nodes)
    memory, slow = fastest(profile.hbm, profile.dispatch, len(ports))
    engine = ContextEngine(memory)
    turns, stored = _turns(graph), _stored(nodes)
    into: dict[tuple[str, int], TimedFifo] = {}
    out: dict[tuple[str, int], TimedFifo] = {}
    names: dict[str, TimedFifo] = {}
    promoted, repeated = _promoted(nodes), _repeated(nodes)
    for node in nodes:
        if node.name in promoted:
            continue
        if node.name in repeated:
            into[node.name, 0] = into[repeated[node.name], 0]
            continue
        for port, stream in enumerate(node.inputs):
            own = stream.depth if profile.honour_depths else None
            if stream.key in turns and (node.operator.inserted or trait(node, "TAKES_TURNS")):
                own = UNBOUNDED
            channel = into[node.name, port] = out[stream.key] = TimedFifo(own or profile.channel_depth)
            names[graph.stream_name(*stream.key)] = channel
    out |= {(reshape, 0): out[promote, 0] for promote, reshape in promoted.items()}
    kept = _in_memory(graph, turns)
    for key, channel in out.items():
        channel.in_memory = key in kept
    contexts: dict[str, Context] = {}
    for node in nodes:
        if node.name in promoted or node.name in repeated.values():
            continue
        context = contexts[node.name] = Context(node.name, engine)
        engine.contexts.append(context)
        site = ContextSite(
            node=node,
            profile=profile,
            inputs=[into[node.name, port] for port in range(len(node.inputs))],
            outputs=[out.get((node.name, port)) for port in range(len(node.output_types))],
            writes_back=node.name in stored,
            port=ports.get(node.name, -1),
            given=given.get(node.name, ()),
            by_turns=any(stream.key in turns for stream in node.inputs),
            promoted=node.name in promoted.values(),
            repeats=node.name in repeated,
        )
        context.process = module_of(node).process(site, context)
    engine.ports = [contexts[name] for name in ports]
    return ContextGraph(graph, engine, names, slow)


def _streams(graph: Graph, inputs: Mapping[str, Any] | BoundInputs) -> Mapping[str, Sequence[Token]]:
    """The tokens of all sources."""
    if isinstance(inputs, BoundInputs):
        return dict(inputs.streams)
    found = {}
    for node in graph:
        stream = node.operator.given()
        if stream is not None:
            if node.name not in inputs:
                raise InputError(f"there is no input {node.name!r}, which the program needs")
            found[node.name] = bind_stream(inputs[node.name], stream, node.name)
    return found


def _memory_ports(nodes: list[Node]) -> dict[str, int]:
    """The operators that use off-chip memory, with their ports: those that read, then those that write."""
    readers = [node.name for node in nodes if node.operator.reads(node) is not None]
    writers = [node.name for node in nodes if node.operator.writes(node) is not None]
    for node in nodes:
        if node.name in readers and is_known(node.output_types[0].element):
            raise FabricError(
                f"{node.describe()}: the published profile does not know what tensors hold, so "
                f"{node.output_types[0].element} can not come from one; give it as a source"
            )
    return {name: port for port, name in enumerate([*readers, *writers])}


def _turns(graph: Graph) -> set[tuple[str, int]]:
    """Selectors that the program makes, one target after the other, and their copies: the artifact's Parallelize has
    no stream for them."""
    found: set[tuple[str, int]] = set()
    for node in graph:
        if trait(node, "makes_turns") or (node.operator.inserted and node.inputs[0].key in found):
            found |= {(node.name, port) for port in range(len(node.output_types))}
    return found


def _promoted(nodes: list[Node]) -> dict[str, str]:
    """The operators that add a dimension which the artifact's operator before them adds itself, with that."""
    adding = {(node.name, 0) for node in nodes if trait(node, "adds_dimension")}
    return {
        node.name: before.producer
        for node in nodes
        if trait(node, "IS_DIMENSION") and (before := node.inputs[0]).key in adding
    }


def _repeated(nodes: list[Node]) -> dict[str, str]:
    """The operators that repeat elements, with those before them whose dimension the artifact's RepeatStatic adds
    itself: their flags are read by nobody."""
    read = {stream.key for node in nodes for stream in node.inputs}
    single = {node.name for node in nodes if trait(node, "makes_room") and (node.name, 1) not in read}
    return {
        node.name: before for node in nodes if trait(node, "repeats") and (before := node.inputs[0].producer) in single
    }


def _stored(nodes: list[Node]) -> set[str]:
    """The operators with results that go through an on-chip memory unit: what is stored as they make it."""
    return {node.inputs[access.port].key[0] for node in nodes if (access := node.operator.writes(node)) is not None}


def _in_memory(graph: Graph, turns: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Outputs whose tiles are read from an on-chip memory unit: those of loads, also behind what only renames stops, or
    hands them out by ``turns``."""
    found: set[tuple[str, int]] = set()
    for node in graph:
        before = [stream.key for stream in node.inputs]
        passes = trait(node, "PASSES") or not turns.isdisjoint(before)
        if node.operator.reads(node) is not None or (passes and before and before[0] in found):
            found |= {(node.name, port) for port in range(len(node.output_types))}
    return found
