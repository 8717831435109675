"""The reference interpreter: what a program means, without time.

Every operator runs as a sequential process over unbounded channels, so cyclic graphs work as they are. One that would
take a token of any of several inputs gets it when nothing else can go on, and of the lowest one: without a loop all of
them are there by then, and it goes through them one after the other. Every stream is checked against its declared
shape on the way.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from step.errors import Deadlock, InputError, StreamFault
from step.host.names import ByName
from step.language.checker import StreamChecker
from step.language.faults import Fault, Violation, rows_of
from step.language.graph import Graph, Node
from step.language.operator import Process
from step.language.parameters import settled
from step.language.surroundings import ANY_ROWS
from step.language.symbols import determined, measure
from step.language.tokens import Token
from step.language.types import ElementType
from step.language.validate import check, check_outputs
from step.lowering.links import deciding
from step.lowering.netlist import Netlist, insert_broadcasts
from step.programs.data.inputs import BoundInputs, bind_inputs
from step.programs.data.stored import Tensors
from step.programs.prepare import Inputs, Openable, Prepared, open_program
from step.running.blank import blank
from step.running.contracts import ShapeChecks, first_fault, promised_streams, stream_fault
from step.running.result import RunResult, Status

OnToken = Callable[[str, Token], None]
"""Told the name of a sink, and a token that leaves the program there, Done apart, as soon as it does."""


@dataclass
class Interpretation:
    """Result of a run: the tokens of every output, and the checker of every stream.

    ``symbols`` are the values of the program's symbols, as its streams show them; ``arrivals`` has the order in which
    operators took their data, as `step.running.result.RunResult` has it.
    """

    outputs: dict[str, list[Token]]
    checkers: dict[str, StreamChecker]
    streams: dict[str, list[Token]] = field(default_factory=dict)
    arrivals: dict[str, list[int]] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class _Interpreter:
    """One run, with zeros as results of the nodes ``blanks``; also what the processes see of it
    (`step.language.operator.Surroundings`).

    On the fabric of a ``netlist`` tiles have so many rows at most as that has room for.
    """

    graph: Graph
    inputs: BoundInputs
    record: bool = False
    orders: Mapping[str, Sequence[int]] | None = None
    netlist: Netlist | None = None
    blanks: frozenset[str] = frozenset()
    on_token: OnToken | None = None

    def __post_init__(self) -> None:
        graph, inputs = self.graph, self.inputs
        self.tensors = Tensors(graph, inputs)
        self.readers = graph.readers()
        self.queues = defaultdict[tuple[str, int], deque[Token]](deque)
        self.taken = Counter[tuple[str, int]]()
        self.heads: dict[tuple[str, int], Token] = {}
        self.faults: dict[str, StreamFault] = {}
        streams = {str(each): each for each in graph.streams()}
        self.checks = ShapeChecks(graph, promised_streams(graph, inputs.streams))
        self.others = ShapeChecks(graph, [each for name, each in streams.items() if name not in self.checks.checkers])
        self.result = Interpretation(ByName({}, "output"), {**self.checks.checkers, **self.others.checkers})
        if self.record:
            self.result.streams = {name: [] for name in streams}
        self.active: Node
        self.processes: dict[str, Process] = {}
        self.waiting: dict[str, tuple[int, ...]] = {}
        self.came_from = -1
        self.ready: deque[str] = deque()

    def most_rows(self, port: int = 0) -> int:
        netlist, tiled = self.netlist, (self.active.name, port)
        return netlist.rows_from(self.active) if netlist and tiled in netlist.tiled else ANY_ROWS

    def emit(self, port: int, token: Token) -> None:
        node, most = self.active, self.most_rows(port)
        if token.has_value and most != ANY_ROWS and rows_of(token.value) > most:
            raise Violation(Fault.TOO_MANY_ROWS)
        name = self.graph.stream_name(node.name, port)
        (self.checks if name in self.checks.checkers else self.others).see(name, token)
        if name in self.result.streams:
            self.result.streams[name].append(token)
        for reader, reader_port in self.readers[node.name, port]:
            self.queues[reader.name, reader_port].append(token)
            self.ready.append(reader.name)

    def computed(self, compute: Callable[..., Any], *values: Any, result: ElementType) -> Any:
        node = self.active
        return blank(node, result, compute, values) if node.name in self.blanks else compute(*values)

    def tiles(self) -> MutableSequence[np.ndarray]:
        return self.tensors.tiles(self.active)

    def stream(self) -> Sequence[Token]:
        return self.inputs.streams[self.active.name]

    def port(self) -> int:
        return self.came_from

    def arrivals(self) -> Sequence[int]:
        return (self.orders or {}).get(self.active.name, ())

    def collect(self, token: Token) -> None:
        node = self.active
        self.result.outputs[node.name].append(token)
        if self.on_token is not None and node.operator.hands_out:
            self.on_token(node.name, token)

    def run(self) -> Interpretation:
        for node in self.graph:
            if node.operator.ends_run and not node.output_types:
                self.result.outputs[node.name] = []
        for node in self.graph:
            self.processes[node.name] = node.operator.process(node, self)
            self._advance(node, None)
        while True:
            while self.ready:
                name = self.ready.popleft()
                ports = self.waiting.get(name, ())
                if len(ports) == 1 and self.queues[name, ports[0]]:
                    self._advance(self.graph.nodes[name], ports[0])
            # The first node that takes a token of any of several ports, and the lowest of these that has one.
            choice = next(((node, port) for node, port in self._awaited() if self.queues[node.name, port]), None)
            if choice is None:
                break
            self._advance(*choice)
        # Of streams whose shapes were inferred only what no promise explains is told: an operator that breaks its rule.
        fault = first_fault(self.graph, self.faults, self.checks.broken)
        if fault := fault or first_fault(self.graph, {}, self.others.broken):
            raise fault
        if self.waiting:
            self._starved()
        if disagreement := self.checks.disagreement():
            raise disagreement
        self.result.outputs.update(self.tensors.outputs())
        return self.result

    def _awaited(self) -> Iterator[tuple[Node, int]]:
        """Nodes that wait, with each port that they would take a token of, in the order of the program."""
        return ((node, port) for node in self.graph for port in self.waiting.get(node.name, ()))

    def _advance(self, node: Node, port: int | None) -> None:
        """Run ``node`` on a token of ``port`` (None: from its begin) until it waits for one that is not there, ends, or
        meets a fault, which stops it alone."""
        self.active = node
        process = self.processes[node.name]
        self.waiting.pop(node.name, None)
        try:
            wanted = next(process) if port is None else process.send(self._take(node, port))
            while isinstance(wanted, int) and self.queues[node.name, wanted]:
                wanted = process.send(self._take(node, wanted))
            self.waiting[node.name] = (wanted,) if isinstance(wanted, int) else wanted
        except StopIteration:
            pass
        except Violation as violation:
            self.faults[node.name] = stream_fault(node, violation.fault, self._heads(node), self.netlist)

    def _take(self, node: Node, port: int) -> Token:
        token = self.queues[node.name, port].popleft()
        self.heads[node.name, port] = token
        self.taken[node.name, port] += 1
        self.came_from = port
        if not token.done and port in node.operator.arrival_ports(len(node.inputs)):
            self.result.arrivals.setdefault(node.name, []).append(port)
        return token

    def _heads(self, node: Node) -> dict[int, tuple[int, Token]]:
        """The last token that each port got, and its position."""
        return {
            port: (self.taken[node.name, port] - 1, self.heads[node.name, port])
            for port in range(len(node.inputs))
            if (node.name, port) in self.heads
        }

    def _starved(self) -> None:
        lines = ["the program ended before every stream did; these operators wait for a token that never comes:"]
        lines += [
            f"  {node.describe()} waits for token {self.taken[node.name, port]} of {node.inputs[port]}"
            for node, port in self._awaited()
        ]
        raise Deadlock("\n".join(lines))


def interpret(
    graph: Graph,
    inputs: Mapping[str, Any] | BoundInputs,
    *,
    record: bool = False,
    arrivals: Mapping[str, Sequence[int]] | None = None,
) -> Interpretation:
    """Meaning of ``graph`` on ``inputs``, without time: tokens of every output, and the values of symbols.

    `step.run` with ``"interpret"`` takes whole programs, and gives arrays.

    ``graph``: the `Graph`.
    ``inputs``: data by the name of tensor or source (docs/inputs.md).
    ``record``: True keeps the tokens of all streams.
    ``arrivals``: per node, the input port of every data token, in the order of a timed run, which is replayed; behind
    the end of a record that was cut short the order is that of the inputs.

    Raises `InputError` for data that does not fit, `StreamFault` for tokens that break an operator's contract or a
    stream's shape, and `Deadlock` where operators starve.

    >>> found = step.interpret(graph, {"x": [[1, 2, 3], [4, 5, 6]]})
    >>> [token.value.item() for token in found.outputs["y"]], found.symbols
    ([6.0, 15.0], {'N': 2})
    """
    if not isinstance(graph, Graph):
        raise InputError(f'a graph must be interpreted, not {graph!r}; step.run(PROGRAM, "interpret") takes programs')
    settled(arrivals or {}, Mapping, "arrivals", InputError)
    check(graph)
    lowered, data = insert_broadcasts(graph), bind_inputs(graph, inputs)
    return _measured(graph, _Interpreter(lowered, data, record, arrivals))


def meaning(
    prepared: Prepared, arrivals: Mapping[str, Sequence[int]] | None = None, *, on_token: OnToken | None = None
) -> Interpretation:
    """`interpret` for what is ``prepared``; what no fabric can be is refused, too."""
    graph, netlist, data = prepared.graph, prepared.netlist, prepared.data
    return _measured(graph, _Interpreter(netlist.graph, data, orders=arrivals, netlist=netlist, on_token=on_token))


def _measured(graph: Graph, interpreter: _Interpreter) -> Interpretation:
    """The run, with the symbols of ``graph``; raises `StreamFault` where they have several values in it."""
    result = interpreter.run()
    result.symbols = measure(graph, result.checkers)
    return result


def bind(program: Openable, inputs: Inputs | None = None) -> dict[str, int]:
    """Value of every symbol of ``program``: name -> extent, of a ragged one the total extent.

    Only what decides where data goes, and how much, is computed.

    ``program``: a `Program`, a `Graph` or the name of a file.
    ``inputs``: data by name, or an .npz file, in the place of the program's own.

    Raises `UnboundSymbol` where data shows only a sum or a product of several symbols, and what `interpret` raises.

    >>> step.bind(program), step.bind(graph, {"x": [[1, 2, 3]]})
    ({'N': 2}, {'N': 1})
    """
    opened = open_program(program, inputs=inputs)
    check(opened.graph)
    lowered = insert_broadcasts(opened.graph)
    blanks = frozenset(lowered.nodes) - deciding(lowered)
    data = bind_inputs(opened.graph, opened.inputs)
    return determined(opened.graph, _Interpreter(lowered, data, blanks=blanks).run().checkers)


def interpreted(prepared: Prepared, *, on_token: OnToken | None = None) -> RunResult:
    """Interpret what is ``prepared``: outputs without time, so no cycles and no activities.

    The fabric has no say in it, but what no fabric can be is refused as by the other back ends. ``on_token`` is told of
    every token that leaves through a sink.
    """
    check_outputs(prepared.graph)
    started = time.perf_counter()
    found = meaning(prepared, on_token=on_token)
    seconds = time.perf_counter() - started
    return RunResult("interpret", prepared.graph.name, Status.FINISHED, 0, found.outputs, {}, {}, seconds)
