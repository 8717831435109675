"""A whole random program, made from its seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from step.errors import FabricError
from step.functions.row import RowSum
from step.language.graph import Graph, Node
from step.lowering.bus import BusConfig
from step.lowering.fabric import OWN, FabricConfig
from step.lowering.feasible import check_feasible, with_lanes, with_links
from step.lowering.netlist import Netlist, lower
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program
from step_check.fuzz import steps  # noqa: F401  (they register themselves)
from step_check.fuzz.step import steps as all_steps
from step_check.samples.draft import GrowingDraft

LARGEST_BUFFER = 64
"""More tokens than any stream has that fills buffers."""

SCALAR_BYTES = 4
"""Bytes of the widest scalar."""

UNITS = {
    **{"matmul_lanes": (1, 4, 8), "vector_lanes": (1, 4, 16), "stages": (1, 2, 4), "link_bytes": (1, 4, 8, 64, 4096)},
    **{"block_ram_words": (1, 8, 32), "channel_depth": (2, 2, 3, 4), "outstanding": range(1, 5)},
}
MEMORY = {"beat_bytes": (1, 2, 4, 8, 64), "channels": (1, 2, 4), "interval": range(1, 4), "latency": range(1, 10)}
SCRATCHPADS = {"scratchpad_banks": (1, 2, 4), "scratchpad_ports": (1, 2, 3), "page_bytes": (64, 128, 256)}
"""Parameters of a fabric, and what is drawn for them."""

OPERATORS = (5, 60)
"""Operators of a program, at least and at most, sinks and stores not counted; the last step may add a few more."""


def build(seed: int, graph: Graph, *, operators: tuple[int, int] = OPERATORS, roomy: bool = False) -> GrowingDraft:
    """The program of ``seed``, in ``graph``; see `GrowingDraft` for ``roomy``."""
    draft = GrowingDraft(Random(seed), graph, roomy=roomy)
    wanted = draft.random.randint(*operators) + len(graph.nodes)
    taken = all_steps()
    draft.pool.append(draft.source())
    while len(graph.nodes) < wanted:
        draft.random.choice(taken)(draft)
    _end(draft)
    return draft


def program(seed: int, *, operators: tuple[int, int] = OPERATORS, roomy: bool = False) -> Program:
    """The program of ``seed`` with its `fabric`, and some of its operators with lanes and links of their own."""
    graph = Graph("random")
    draft = build(seed, graph, operators=operators, roomy=roomy)
    found = with_masters(with_rows(fabric(seed, roomy=roomy), graph, draft.most_rows), graph, seed)
    netlist = lower(graph, found)
    found = replace(found, lanes=own_lanes(seed, with_lanes(netlist)), links=own_links(seed, netlist))
    return Program(graph, draft.inputs, found)


def with_masters(fabric: FabricConfig, graph: Graph, seed: int) -> FabricConfig:
    """``fabric``, half of the time with buses that the memory ports of ``graph`` share."""
    random = Random(f"masters {seed}")
    masters, bytes = random.randint(0, 8) - 4, random.choice([1, 2, 4, 8, 64])
    if masters <= 0:
        return fabric
    burst = max(random.choice([1, 2, 4, 16]), fabric.memory.beat_bytes // bytes)
    bus = BusConfig(masters, bytes, burst, outstanding=random.randint(1, 4))
    return for_graph(replace(fabric, memory=replace(fabric.memory, bus=bus)), graph)


def for_graph(fabric: FabricConfig, graph: Graph) -> FabricConfig:
    """``fabric`` with lanes and links of operators of ``graph`` alone, and no more masters than it has memory ports."""
    ports = sum((node.operator.reads(node) is not None) + (node.operator.writes(node) is not None) for node in graph)
    own: dict[str, Any] = {
        kind: {at: n for at, n in getattr(fabric, kind).items() if at in graph.nodes} for kind in OWN
    }
    return replace(fabric, memory=fabric.memory.of_masters(min(fabric.memory.masters, ports)), **own)


def own_lanes(seed: int, nodes: Sequence[Node]) -> dict[str, int]:
    """Lanes for some of ``nodes``, whatever they are called."""
    random = Random(f"lanes {seed}")
    return {node.name: random.choice([1, 2, 3, 4, 8, 16]) for node in nodes if random.random() < 0.3}


def own_links(seed: int, netlist: Netlist, prefix: str = "") -> dict[str, int]:
    """Links for some of the operators of ``netlist`` whose names begin with ``prefix``, as there is hardware for."""
    random = Random(f"links {seed}")
    nodes = [node for node in with_links(netlist) if node.name.startswith(prefix)]
    drawn = {node.name: random.choice([1, 2, 4, 8, 16, 64]) for node in nodes if random.random() < 0.3}
    if _fits(netlist, drawn):
        return drawn
    found: dict[str, int] = {}
    for name, link in drawn.items():
        if _fits(netlist, {**found, name: link}):
            found[name] = link
    return found


def _fits(netlist: Netlist, links: dict[str, int]) -> bool:
    """Whether there is hardware for words of dynamic tiles on these ``links``."""
    try:
        check_feasible(replace(netlist, fabric=replace(netlist.fabric, links=links)))
    except FabricError:
        return False
    return True


def _end(draft: GrowingDraft) -> None:
    """A sink or a store for all that nobody reads, and for some that is read; a few streams stay unread."""
    for piece in draft.pool:
        read = piece.stream.key in draft.read_keys
        # A run ends with the last sink, so what is behind an order of arrival must be read to its end.
        if draft.chance(0.85) if read else draft.chance(0.1) and not piece.timed:
            continue
        if piece.is_tile and draft.chance(0.4):
            draft.read(piece).store(draft.name("y"))
        else:
            draft.read(piece).sink(draft.name("y"))
    if not any(node.operator.ends_run for node in draft.graph):
        draft.read(draft.pool[-1]).sink(draft.name("y"))


def fabric(seed: int, *, roomy: bool = False) -> FabricConfig:
    """A small fabric, whose memory is not fast; ``roomy``: with on-chip memory for all that ever waits."""
    random = Random(-1 - seed)

    def drawn(choices: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        return {name: random.choice(each) for name, each in choices.items()}

    found = FabricConfig(**drawn(UNITS), memory=MemoryConfig(**drawn(MEMORY)), **drawn(SCRATCHPADS))
    # A page for every token of one buffer; more than one of this size may wait for each other.
    return replace(found, scratchpad_bytes=found.page_bytes * LARGEST_BUFFER * (8 if roomy else 1))


def with_rows(fabric: FabricConfig, graph: Graph, most: int) -> FabricConfig:
    """``fabric`` with hardware for the dynamic tiles of ``graph`` with ``most`` rows (0: there are none).

    It wants links as wide as a scalar, or as a row that is added at once, and on-chip memory with pages for a tile.
    """
    if not most:
        return fabric
    added = [
        tile.with_rows(1).bytes
        for node in graph
        if isinstance(sums := node.operator.function, RowSum) and sums.sum == "fused"
        for tile in node.inputs[0].element.tiles
        if not tile.is_static
    ]
    buffers = [node.output_types[0].element for node in graph if node.operator.fills_buffers]
    tile = max((tile.with_rows(most).bits for each in buffers for tile in each.tiles), default=8)
    times = max(1, (1 << (tile // 8 - 1).bit_length()) // fabric.page_bytes)
    return replace(
        fabric,
        dynamic_rows=most,
        link_bytes=max(fabric.link_bytes, SCALAR_BYTES, *map(int, added)),
        page_bytes=fabric.page_bytes * times,
        scratchpad_bytes=fabric.scratchpad_bytes * times,
    )
