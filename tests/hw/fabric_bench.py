"""Runs a program's fabric in Amaranth's simulator, with random idling at its sources and pressure at its sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from assembly import Assembly, beats_of
from driving import drive

from cosim.running.bench_run import source_transfers
from hw.fabric import ElaboratedFabric, PlacedChannel, elaborate
from hw.links.layout import TokenFormat
from hw.links.packing import pack_header, pack_words, unpack_element, unpack_header, unpack_words
from step.language.faults import Fault
from step.language.graph import Graph
from step.language.tokens import UNKNOWN, Token
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.programs.data.inputs import BoundInputs, bind_inputs


@dataclass
class Run:
    """What happened.

    The beats of the memory; per channel the cycle, header and words of every token that entered; activities per unit
    and cycle; the transfers that sinks handed out; per operator that takes data as it arrives, the input of every token
    but Done.
    """

    fabric: ElaboratedFabric
    memory: list[int]
    entered: dict[str, list[tuple[int, int, list[int]]]] = field(default_factory=dict)
    activity: dict[str, list[int]] = field(default_factory=dict)
    written: dict[str, dict[int, int]] = field(default_factory=dict)
    faults: dict[str, tuple[int, Fault]] = field(default_factory=dict)
    sinks: dict[str, list[int]] = field(default_factory=dict)
    arrivals: dict[str, list[int]] = field(default_factory=dict)
    finished: bool = False

    def tokens(self, channel: str) -> list[Token]:
        """The tokens that entered ``channel``."""
        (placed,) = (each for each in self.fabric.channels if each.edge.name == channel)
        return [_token(header, words, placed) for _, header, words in self.entered[channel]]

    def cycles(self, channel: str) -> list[int]:
        """When they entered."""
        return [cycle for cycle, _, _ in self.entered[channel]]


def _token(header: int, words: list[int], channel: PlacedChannel) -> Token:
    element, format = channel.edge.type.element, channel.format
    if format.control:
        return unpack_header(header, format, unpack_element(header >> format.header_bits, element))
    return unpack_header(header, format, unpack_words(words, element, format) if words else UNKNOWN)


def packed(token: Token, channel: PlacedChannel) -> tuple[int, list[int]]:
    """The header and the words of ``token`` in ``channel``."""
    carried = token.has_value and channel.format.word_bits
    words = pack_words(token.value, channel.edge.type.element, channel.format) if carried else []
    return pack_header(token, channel.format), words


def _words(header: int, format: TokenFormat) -> int:
    """The words of the value with ``header``."""
    if not format.most_rows:
        return format.words
    return int(format.words_of(header >> format.header_bits - format.rows_bits))


@dataclass
class _Reader:
    """Answers the requests of one load, in order, two cycles after each beat at the earliest."""

    memory: list[int]
    beats: int
    waiting: list[tuple[int, int]] = field(default_factory=list)

    def request(self, address: int, cycle: int) -> None:
        for beat in range(self.beats):
            self.waiting.append((cycle + 2 + beat, self.memory[address + beat]))


@dataclass
class _Writer:
    """Takes the beats of one store, which are visible two cycles later at the earliest."""

    memory: list[int]
    waiting: list[tuple[int, int, int]] = field(default_factory=list)

    def write(self, address: int, beat: int, cycle: int) -> None:
        self.waiting.append((cycle + 2, address, beat))

    def show(self, cycle: int) -> bool:
        """Whether the oldest beat becomes visible."""
        if not self.waiting or self.waiting[0][0] > cycle:
            return False
        _, address, beat = self.waiting.pop(0)
        self.memory[address] = beat
        return True


def simulate(
    graph: Graph,
    inputs: Mapping[str, Any] | BoundInputs,
    config: FabricConfig,
    *,
    idle: float = 0.0,
    pressure: float = 0.0,
    seed: int = 0,
    most: int = 3000,
) -> Run:
    """Run until everything is finished, a unit has a fault, or ``most`` cycles have passed.

    Inputs that are bound already are not checked.
    ``idle``: how likely a source waits before a token; ``pressure``: how likely a sink is not ready in a cycle.
    """
    fabric = elaborate(lower(graph, config))
    bound = inputs if isinstance(inputs, BoundInputs) else bind_inputs(graph, inputs)
    assembly = Assembly(fabric.structure)
    run = Run(fabric, beats_of(fabric.netlist, bound))
    random = Random(seed)
    top, wires = assembly, assembly.wires
    sources = source_transfers(fabric.netlist, bound)
    offered: dict[str, int | None] = dict.fromkeys(sources)
    readers = {}
    for name, region in fabric.memory.loads.items():
        readers[name] = _Reader(run.memory, region.beats_per_tile)
    writers = {name: _Writer(run.memory) for name in fabric.memory.stores}
    run.written = {name: {} for name in writers}
    run.sinks = {unit.node.name: [] for unit in fabric.units if unit.node.operator.hands_out}
    takers = [*writers, *run.sinks]
    run.entered = {channel.edge.name: [] for channel in fabric.channels}
    run.activity = {unit.node.name: [] for unit in fabric.units}
    left = dict.fromkeys(run.entered, 0)  # tokens that were taken
    ends = [unit.instance for unit in fabric.units]
    frozen: dict[str, int] = {}

    def port(name: str) -> Any:
        return getattr(top, name)

    def ready(name: str) -> Any:
        return port(f"{name}__ready" if name in run.written else f"{name}_tready")

    def valids(name: str) -> Any:
        return port(f"{name}__valid" if name in run.written else f"{name}_tvalid")

    async def bench(context: Any) -> None:
        for cycle in range(most):
            for name, tokens in sources.items():
                if offered[name] is None and tokens and random.random() >= idle:
                    offered[name] = tokens.pop(0)
                top.offer(context, name, offered[name])
            for name in takers:
                context.set(ready(name), random.random() >= pressure)
            for name, reader in readers.items():
                context.set(port(f"{name}__request__ready"), random.random() >= pressure)
                there = bool(reader.waiting) and reader.waiting[0][0] <= cycle and random.random() >= idle
                context.set(port(f"{name}__response__valid"), there)
                context.set(port(f"{name}__response__payload"), reader.waiting.pop(0)[1] if there else 0)

            for name, writer in writers.items():
                visible = random.random() >= idle and writer.show(cycle)
                if hasattr(top, f"{name}__written"):
                    context.set(port(f"{name}__written"), visible)

            for name in sources:
                if context.get(port(f"{name}_tready")) and offered[name] is not None:
                    offered[name] = None
            for name, reader in readers.items():
                if context.get(port(f"{name}__request__valid")) and context.get(port(f"{name}__request__ready")):
                    reader.request(context.get(port(f"{name}__request__payload")), cycle)
            for name in takers:
                valid, word, at = context.get(valids(name)), 0, 0
                for part in top.parts(name):
                    word |= context.get(part) << at
                    at += len(part)
                if name in frozen:
                    assert valid and word == frozen.pop(name), f"{name} changes what it offers"
                if valid and not context.get(ready(name)):
                    frozen[name] = word
                elif valid and name in run.written:
                    address = word & 0xFFFFFFFF
                    assert address not in run.written[name] or hasattr(top, f"{name}__written")
                    run.written[name][address] = word >> 32
                    writers[name].write(address, word >> 32, cycle)
                elif valid:
                    run.sinks[name].append(word)
            for channel in fabric.channels:
                stem, (reader, port_number) = channel.stem, channel.edge.consumer
                if context.get(wires[f"{stem}_present"]) and context.get(wires[f"{stem}_take"]):
                    header = run.entered[channel.edge.name][left[channel.edge.name]][1]
                    left[channel.edge.name] += 1
                    node = fabric.netlist.graph.nodes[reader]
                    if not header & 1 and port_number in node.operator.arrival_ports(len(node.inputs)):
                        run.arrivals.setdefault(reader, []).append(port_number)
            for channel in fabric.channels:
                entered, format = run.entered[channel.edge.name], channel.format
                values = [each for each in entered if each[1] & 2]
                if format.word_bits and values and len(values[-1][2]) < _words(values[-1][1], format):
                    assert len(values[-1][2]) == cycle - 1 - values[-1][0]
                    values[-1][2].append(context.get(wires[f"{channel.stem}_entering_word"]))
                if context.get(wires[f"{channel.stem}_enter"]):
                    header = context.get(wires[f"{channel.stem}_entering"])
                    # Rows and control of a token without a value mean nothing.
                    entered.append((cycle, header if header & 2 else header & ((4 << 2 * format.stop_bits) - 1), []))
            for unit in fabric.units:
                run.activity[unit.node.name].append(context.get(wires[f"{unit.instance}_activity"]))
                fault = context.get(wires[f"{unit.instance}_fault"])
                if fault:
                    run.faults[unit.node.name] = cycle, Fault(fault)
            leaving = any(context.get(valids(name)) for name in takers)
            run.finished = all(context.get(wires[f"{each}_finished"]) for each in ends) and not leaving
            if run.finished or run.faults:
                break
            await context.tick()

    drive(assembly, bench)
    return run
