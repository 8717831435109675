"""Promises of shapes and operators that data may break: checked, and told with the same texts, in every back end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from step.errors import StreamFault, UnboundSymbol
from step.language.checker import StreamChecker
from step.language.dims import Dim, DimKind
from step.language.faults import SHOWS_VALUES, Fault
from step.language.graph import Graph, Node
from step.language.loops import RegularStream
from step.language.stream import Stream
from step.language.symbols import determined, measure, showing
from step.language.tiling import accesses
from step.language.tokens import Token
from step.language.types import ElementType, Selector, is_dynamic
from step.lowering.memory import DYNAMIC_TILES, memory_map
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.running.result import TrafficResult


class ShapeChecks:
    """Checks some ``streams`` of a run of ``graph``.

    ``broken`` has, by stream, the error for the first token that broke its shape; what follows there is not looked at.
    """

    def __init__(self, graph: Graph, streams: Collection[Stream]) -> None:
        self._graph = graph
        self.checkers = {str(stream): StreamChecker(str(stream), stream.type) for stream in streams}
        self._writers = {str(stream): graph.nodes[stream.producer] for stream in streams}
        self.broken: dict[str, StreamFault] = {}

    def copy(self) -> ShapeChecks:
        """The same checks, at the same place of the streams."""
        other = copy(self)
        other.checkers = {name: each.copy() for name, each in self.checkers.items()}
        other.broken = dict(self.broken)
        return other

    def see(self, name: str, token: Token) -> None:
        """Take the next token of the stream called ``name``."""
        if name not in self.broken:
            try:
                self.checkers[name].see(token)
            except StreamFault as error:
                self.broken[name] = StreamFault(f"{self._writers[name].describe()}: {error}")

    def see_all(self, name: str, tokens: Sequence[Token]) -> None:
        """Take all of the stream called ``name``."""
        if isinstance(tokens, RegularStream) and self.checkers[name].fits(tokens.extents):
            self.checkers[name].see_regular(tokens.extents)
            return
        for token in tokens:
            self.see(name, token)

    def symbols(self, others: ShapeChecks) -> dict[str, int] | None:
        """Their values, as these checks and ``others`` saw them; None: data shows only a sum or product of some."""
        try:
            return determined(self._graph, {**others.checkers, **self.checkers})
        except UnboundSymbol:
            return None

    def disagreement(self) -> StreamFault | None:
        """The error where symbols or derived dimensions do not have the one extent that they should have."""
        try:
            measure(self._graph, self.checkers)
        except StreamFault as error:
            return error
        return None


def timed_checks(graph: Graph, inputs: BoundInputs) -> ShapeChecks:
    """The checks of a timed run of the lowered ``graph``; those of its sources are done, as their tokens are known."""
    return _with_sources(ShapeChecks(graph, promised_streams(graph, inputs.streams)), inputs)


def _with_sources(checks: ShapeChecks, inputs: BoundInputs) -> ShapeChecks:
    for name in checks.checkers.keys() & inputs.streams.keys():
        checks.see_all(name, inputs.streams[name])
    return checks


def symbol_checks(graph: Graph, inputs: BoundInputs, promised: ShapeChecks) -> ShapeChecks | None:
    """The checks of the streams that show the symbols of the lowered ``graph`` besides those that are ``promised``.

    None where only streams that nobody reads show one of them, and where nothing that runs is promised: such a run may
    jump over repetitions, which one that is watched may not.
    """
    readers = graph.readers()
    shown = showing(each for each in graph.streams() if each.producer in inputs.streams or readers[each.key])
    if shown.keys() < showing(graph.streams()).keys() or not promised.checkers.keys() - inputs.streams.keys():
        return None
    streams = {str(each): each for streams in shown.values() for each in streams}
    return _with_sources(ShapeChecks(graph, streams.values()), inputs)


def promised_streams(graph: Graph, sources: Collection[str]) -> list[Stream]:
    """The streams of the lowered ``graph`` that can be the first to break a promise.

    These are the ones whose shape was declared: what ``sources`` play (their static extents were checked before the
    run, so only those with a regular symbol) and what `Graph.refine` was told; and for every symbol that these name a
    stream that shows it. All other shapes follow from their inputs' by the rules of the operators. A stream that nobody
    reads does not exist in a fabric, so it is none of them.
    """
    readers = graph.readers()
    there = [each for each in graph.streams() if each.producer in sources or readers[each.key]]
    declared = [
        each
        for each in there
        if str(each) in graph.refinements or (each.producer in sources and any(map(_is_regular, each.shape)))
    ]
    named = {
        symbol for each in declared for dim in filter(_is_regular, each.shape) for symbol in dim.extent.free_symbols
    }
    showing = {dim.extent: each.key for each in reversed(there) for dim in each.shape if dim.extent.is_Symbol}
    chosen = {each.key for each in declared} | {showing[symbol] for symbol in named if symbol in showing}
    return [each for each in there if each.key in chosen]


def _is_regular(dim: Dim) -> bool:
    return dim.kind is DimKind.DYNAMIC


UNLIKE = "it takes tiles together that have different numbers of rows"
"""Said where the control of all inputs is the same."""


PROMISED = (
    "a tile has more than {rows} rows, the most for which the channels behind it have room; "
    "with this data, too, `step fifos` finds more"
)
"""Said where the fabric has room for more."""


def control_text(token: Token, value: str = "a value") -> str:
    """Token in words, without its value: ``a value``, ``a value with S1``, ``an empty of rank 1``, ``Done``.

    ``value`` stands for its value.
    """
    if token.done:
        return "Done"
    what = f"an empty of rank {token.rank}" if token.is_empty else value
    return f"{what} with S{token.stop}" if token.stop > token.rank else what


def value_text(element: ElementType, value: Any) -> str:
    """A value of ``element``, which is one scalar, or a selector."""
    if not isinstance(element, Selector):
        return str(np.asarray(value).item())
    targets = [str(target) for target in range(element.targets) if value >> target & 1]
    return f"a selector of {', '.join(targets) or 'no target'}"


def stream_fault(
    node: Node, fault: Fault, heads: Mapping[int, tuple[int, Token]], netlist: Netlist | None = None
) -> StreamFault:
    """The error for ``fault`` at ``node``; ``heads`` has, per input port, the token in front and its position.

    Some faults are met by a ``netlist`` only, whose figures are in their text.
    """
    ports = node.operator.fault_ports(fault, len(node.inputs))
    tokens = [heads[port][1] for port in ports]
    dynamic = any(is_dynamic(node.input_types[port].element) for port in ports)
    rows = fault is Fault.STOPS_DISAGREE and dynamic and len({each[1:] for each in tokens}) == 1
    what = UNLIKE if rows else node.operator.fault_text(fault).format(fabric=netlist and netlist.fabric)
    if fault is Fault.TOO_MANY_ROWS and netlist is not None and node.name in netlist.most_rows:
        what = PROMISED.format(rows=netlist.rows_from(node))
    lines = [f"{node.describe()}: {what}"]
    for port, token in zip(ports, tokens, strict=True):
        shown = fault in SHOWS_VALUES and token.has_value
        value = value_text(node.input_types[port].element, token.value) if shown else "a value"
        lines.append(f"  token {heads[port][0]} of {node.inputs[port]} is {control_text(token, value)}")
    return StreamFault("\n".join(lines))


def first_fault(
    graph: Graph, faults: Mapping[str, StreamFault], broken: Mapping[str, StreamFault]
) -> StreamFault | None:
    """The error that is reported: the first in the order of ``graph``.

    ``faults`` are those that units met, by their names; ``broken`` those of streams whose tokens do not fit their
    shapes, which come behind the writer's own. Which one comes first in time depends on the fabric, so every back end
    lets a run go on until nothing moves.
    """
    for node in graph:
        streams = [graph.stream_name(node.name, port) for port in range(len(node.output_types))]
        for found in (faults.get(node.name), *map(broken.get, streams)):
            if found is not None:
                return found
    return None


def overflow(netlist: Netlist, traffic: Mapping[str, TrafficResult]) -> StreamFault | None:
    """The fault of the first store that wrote more tiles than there is room for; None: all had room."""
    for node, access in accesses(netlist.units, writes=True):
        region, beats = memory_map(netlist).stores[node.name], traffic[node.name].beats
        if access.tiles is None and beats > region.beats:
            return no_room(node, beats // region.beats_per_tile)
    return None


def no_room(node: Node, tiles: int) -> StreamFault:
    """The fault of the store ``node``, which wrote so many ``tiles``."""
    return StreamFault(
        f"{node.describe()}: it wrote {tiles:,} tiles, but a store whose number of tiles only a run tells has room for "
        f"{DYNAMIC_TILES:,} in off-chip memory: declare the extents with assume_shape, or end the stream with sink"
    )
