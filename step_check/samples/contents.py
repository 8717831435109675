"""Contents of the streams of a program that grows: every operator runs once, when it is placed."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from step.language.faults import Violation
from step.language.graph import Graph, Node
from step.language.operator import Surroundings
from step.language.tiling import accessed
from step.language.tokens import Token
from step.programs.data.inputs import cut_tiles


@dataclass
class Contents(Surroundings):
    """The tokens of every stream, by its name; also what the operators see of the run around them.

    ``played`` are those of the sources, ``tensors`` what lies in off-chip memory before the run. ``arrivals`` has the
    order in which operators take their data, as `step.running.result.RunResult` has it, of those that are in loops.
    """

    played: dict[str, list[Token]] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    streams: dict[str, list[Token]] = field(default_factory=dict)
    orders: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tiles: dict[tuple[str, tuple[int, int]], list[np.ndarray]] = {}

    def add(self, graph: Graph, node: Node) -> None:
        """Run ``node`` of ``graph`` on what its inputs carry.

        Where they end too early, or break the operator's contract, so ends what it sends: a check of the program tells.
        """
        self._node, self._port = node, -1
        names = (graph.stream_name(node.name, port) for port in range(len(node.output_types)))
        self._outputs = [self.streams.setdefault(name, []) for name in names]
        queues = [deque(self.streams[str(each)]) for each in node.inputs]
        process = node.operator.process(node, self)
        with suppress(StopIteration, Violation):
            wanted = next(process)
            while True:
                ports = (wanted,) if isinstance(wanted, int) else wanted
                ready = [port for port in ports if queues[port]]
                if not ready:
                    return
                self._port = ready[0]
                wanted = process.send(queues[ready[0]].popleft())

    # -- what operators see -------------------------------------------------------------------------------------

    def emit(self, port: int, token: Token) -> None:
        self._outputs[port].append(token)

    def tiles(self) -> MutableSequence[np.ndarray]:
        access = accessed(self._node)
        assert access is not None and access.tensor is not None
        key = access.tensor, access.tile.shape
        if key not in self._tiles:
            self._tiles[key] = list(cut_tiles(self.tensors[access.tensor], access.tile.shape))
        return self._tiles[key]

    def stream(self) -> Sequence[Token]:
        return self.played[self._node.name]

    def port(self) -> int:
        return self._port

    def arrivals(self) -> Sequence[int]:
        return self.orders.get(self._node.name, ())

    def collect(self, token: Token) -> None:
        """Nothing: outputs are in the stream that they are read from."""
