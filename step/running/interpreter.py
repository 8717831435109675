"""The reference interpreter: what a program means, without time.

Every operator runs as a sequential process over unbounded channels, so cyclic graphs work as they are. Every stream is
checked against its declared shape on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from step.errors import Deadlock, StreamFault
from step.language.checker import StreamChecker
from step.language.faults import Violation
from step.language.graph import Graph, Node
from step.language.operator import Process
from step.language.symbols import measure
from step.language.tokens import Token
from step.language.validate import check
from step.lowering.passes.broadcast import insert_broadcasts
from step.programs.inputs import BoundInputs, bind_inputs
from step.programs.stored import Tensors
from step.running.promises import Promises, promising
from step.running.stream_fault import first_fault, stream_fault


@dataclass
class Interpretation:
    """Result of a run: the tokens of every output, and the checker of every stream."""

    outputs: dict[str, list[Token]]
    checkers: dict[str, StreamChecker]
    streams: dict[str, list[Token]] = field(default_factory=dict)


class _Run:
    """One run; also what the processes see of it (`step.language.operator.Surroundings`)."""

    def __init__(self, graph: Graph, inputs: BoundInputs, record: bool, arrivals: Mapping[str, Sequence[int]]) -> None:
        self.graph, self.inputs, self.orders = graph, inputs, arrivals
        self.tensors = Tensors(graph, inputs)
        self.readers = graph.readers()
        self.queues: dict[tuple[str, int], deque[Token]] = {}
        self.taken: dict[tuple[str, int], int] = {}
        self.heads: dict[tuple[str, int], Token] = {}
        for node in graph:
            for port in range(len(node.inputs)):
                self.queues[node.name, port] = deque()
                self.taken[node.name, port] = 0
        self.faults: dict[str, StreamFault] = {}
        streams = {str(each): each for each in graph.streams()}
        self.promises = Promises(graph, promising(graph, inputs.streams))
        self.others = Promises(graph, [each for name, each in streams.items() if name not in self.promises.checkers])
        self.result = Interpretation({}, {**self.promises.checkers, **self.others.checkers})
        if record:
            self.result.streams = {name: [] for name in streams}
        self.active: Node | None = None
        self.ready: deque[str] = deque()

    def emit(self, port: int, token: Token) -> None:
        node = self._node()
        name = self.graph.stream_name(node.name, port)
        (self.promises if name in self.promises.checkers else self.others).see(name, token)
        if name in self.result.streams:
            self.result.streams[name].append(token)
        for reader, reader_port in self.readers[node.name, port]:
            self.queues[reader.name, reader_port].append(token)
            self.ready.append(reader.name)

    def tiles(self) -> MutableSequence[np.ndarray]:
        return self.tensors.tiles(self._node())

    def stream(self) -> list[Token]:
        return self.inputs.streams[self._node().name]

    def arrivals(self) -> Sequence[int]:
        return self.orders.get(self._node().name, ())

    def collect(self, token: Token) -> None:
        self.result.outputs[self._node().name].append(token)

    def _node(self) -> Node:
        """The node whose process is running."""
        assert self.active is not None
        return self.active

    def run(self) -> Interpretation:
        processes: dict[str, Process] = {}
        waiting: dict[str, int] = {}
        for node in self.graph:
            if node.operator.ends_run and not node.output_types:
                self.result.outputs[node.name] = []
        for node in self.graph:
            processes[node.name] = node.operator.process(node, self)
            self._advance(node, processes, waiting, first=True)
        while self.ready:
            name = self.ready.popleft()
            if name in waiting and self.queues[name, waiting[name]]:
                self._advance(self.graph.nodes[name], processes, waiting, first=False)
        self._raise_faults()
        if waiting:
            self._starved(waiting)
        if disagreement := self.promises.disagreement():
            raise disagreement
        self.result.outputs |= self.tensors.outputs()
        return self.result

    def _raise_faults(self) -> None:
        fault = first_fault(self.graph, self.faults, self.promises.broken)
        # Of streams whose shapes were inferred only what no promise explains is told: an operator that breaks its rule.
        fault = fault or first_fault(self.graph, {}, self.others.broken)
        if fault:
            raise fault

    def _advance(self, node: Node, processes: dict[str, Process], waiting: dict[str, int], *, first: bool) -> None:
        """Run ``node`` until it waits for a token that is not there, ends, or meets a fault, which stops it alone."""
        self.active = node
        process = processes[node.name]
        try:
            port = next(process) if first else waiting[node.name]
            while self.queues[node.name, port]:
                token = self.queues[node.name, port].popleft()
                self.heads[node.name, port] = token
                self.taken[node.name, port] += 1
                port = process.send(token)
            waiting[node.name] = port
        except StopIteration:
            waiting.pop(node.name, None)
        except Violation as violation:
            waiting.pop(node.name, None)
            self.faults[node.name] = stream_fault(node, violation.fault, self._heads(node))

    def _heads(self, node: Node) -> dict[int, tuple[int, Token]]:
        """The last token that each port got, and its position."""
        return {
            port: (self.taken[node.name, port] - 1, self.heads[node.name, port])
            for port in range(len(node.inputs))
            if (node.name, port) in self.heads
        }

    def _starved(self, waiting: Mapping[str, int]) -> None:
        lines = ["the program ended before every stream did; these operators wait for a token that never comes:"]
        for name, port in waiting.items():
            node = self.graph.nodes[name]
            lines.append(f"  {node.describe()} waits for token {self.taken[name, port]} of {node.inputs[port]}")
        raise Deadlock("\n".join(lines))


def interpret(
    graph: Graph,
    inputs: Mapping[str, Any] | BoundInputs,
    *,
    record: bool = False,
    arrivals: Mapping[str, Sequence[int]] | None = None,
) -> Interpretation:
    """Run ``graph`` on ``inputs`` (tensor and source name -> data, see `step.programs.inputs.bind_inputs`).

    ``record`` keeps the tokens of all streams. ``arrivals`` replays the order in which operators took their data in a
    timed run: per node, the input port of every data token; behind the end of a record that was cut short the order is
    that of the inputs. Raises `InputError` for data that does not fit,
    `StreamFault` for tokens that break an operator's contract or a stream's shape, and `Deadlock` where operators
    starve.
    """
    check(graph)
    bound = bind_inputs(graph, inputs)
    result = _Run(insert_broadcasts(graph), bound, record, arrivals or {}).run()
    measure(graph, result.checkers)
    return result
