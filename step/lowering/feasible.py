"""Whether a lowered program fits the fabric; the RTL and the timing model both ask before they begin."""

from __future__ import annotations

import math
from dataclasses import replace

from step.errors import FabricError
from step.host.nearest import did_you_mean
from step.language.dims import element_count
from step.language.graph import Node
from step.language.types import Buffer, Tile, Tuple, is_dynamic, leaves, with_rows
from step.lowering.board import board_of
from step.lowering.by_operator import CUTS, LANES, LINKS
from step.lowering.fabric import FabricConfig
from step.lowering.limits import MOST_STAGES
from step.lowering.links import data_words
from step.lowering.memory import Share, scratchpads
from step.lowering.netlist import Netlist, derived
from step.lowering.plans import plan_of
from step.lowering.plans.plan import DatapathPlan
from step.lowering.plans.row import RowPlan
from step.lowering.plans.vector import VectorPlan

HIGHEST_RANK = 15
"""Probes and logs have four bits for a stop."""

PACKED = "pack their rows into tiles of a static size"
"""Mends whatever there is no hardware of."""


@derived
def check_feasible(netlist: Netlist) -> None:
    """Raise `FabricError`, with operator and source line, for streams that no channel of the fabric can carry, and for
    what there is no hardware of."""
    for kind in _HAVING:
        for name, number in getattr(netlist.fabric, kind).items():
            _check_own(kind, name, number, netlist)
    if netlist.fabric.memory.bus is not None:
        board_of(netlist, netlist.fabric.memory.bus)
    for node in netlist.units:
        _check_node(node, netlist.fabric)
        _check_references(node, netlist)
        _check_ends(node, netlist)
        _check_dynamic(node, netlist)
    for scratchpad in scratchpads(netlist):
        for share in scratchpad.shares:
            _check_share(share, netlist.fabric)


@derived
def with_lanes(netlist: Netlist) -> list[Node]:
    """The operators that have lanes, of the fabric or of their own; raises `FabricError` as `plan_of`."""
    return [node for node in netlist.units if (plan := _plan(node, netlist)) and plan.lanes]


def lanes_of(node: Node, netlist: Netlist) -> int:
    """The lanes of ``node``, none for what has no function of scalars."""
    plan = _plan(node, netlist)
    return 0 if plan is None else plan.lanes


def is_read(node: Node, netlist: Netlist) -> bool:
    """Whether anyone reads values of ``node``; if not, its lanes do nothing."""
    return any(each is not None and each.element is not None for each in netlist.outputs(node))


def flops_a_cycle(node: Node, netlist: Netlist) -> int:
    """The most operations that the lanes of ``node`` do in a cycle: two of a multiply-accumulate, else what a scalar
    takes."""
    function = node.operator.function
    assert function is not None
    if function.name == "matmul":
        return 2 * lanes_of(node, netlist)
    rows = netlist.fabric.dynamic_rows
    elements = [with_rows(each.element, rows) for each in node.inputs]
    ends = [*elements, with_rows(node.output_types[0].element, rows)]
    scalars = max(1, *(int(each.elements) for each in ends if isinstance(each, Tile)))
    return lanes_of(node, netlist) * max(1, math.ceil(int(function.flops(*elements)) / scalars))


def _plan(node: Node, netlist: Netlist) -> DatapathPlan | None:
    return None if node.operator.function is None else plan_of(node, netlist.at(node))


def _check_own(kind: str, name: str, number: int, netlist: Netlist) -> None:
    """Numbers of ``kind`` are given to operators that are there, and that have some of their own."""
    setting, nodes, having = f"{kind}.{name}={number}", netlist.graph.nodes, _HAVING[kind](netlist)
    if name not in nodes:
        names = [node.name for node in having]
        raise FabricError(
            f"{setting} is for an operator that the program does not have; "
            f"{did_you_mean(name, names)}those with {kind} are {', '.join(names) or 'none'}"
        )
    if (node := nodes[name]) not in having:
        why, instead = _WITHOUT[kind], ""
        if kind == LANES:
            instead = "; lanes have operators whose function treats the scalars of a tile"
        elif kind == LINKS and (owner := netlist.owner(node)) is not node:
            why, instead = f"its words are as wide as those of {owner.name!r}", f"; give links.{owner.name}"
        raise FabricError(f"{node.describe()}: {why}, so {setting} has no meaning{instead}")


@derived
def with_cuts(netlist: Netlist) -> list[Node]:
    """The operators whose arithmetic is cut more or less finely."""
    return [node for node in netlist.units if _is_cut(node, netlist.at(node))]


def _is_cut(node: Node, fabric: FabricConfig) -> bool:
    if node.operator.function is None:
        return False
    coarse, fine = (plan_of(node, replace(fabric, stages=each)).latency for each in (1, MOST_STAGES))
    return coarse != fine


@derived
def with_links(netlist: Netlist) -> list[Node]:
    """The operators whose links have words, and may be of their own."""
    rows = netlist.fabric.dynamic_rows
    words = [each for each in netlist.channels if data_words(each.element, 1, rows)]
    ends = {end for each in words for end in (each.producer[0], each.consumer[0])}
    owners = {netlist.owner(node).name for node in netlist.units if node.name in ends}
    return [node for node in netlist.units if node.name in owners]


_HAVING = {LANES: with_lanes, LINKS: with_links, CUTS: with_cuts}
_WITHOUT = {
    LANES: "it has no lanes",
    LINKS: "no stream at it has words behind its headers",
    CUTS: "it has no arithmetic that is cut into stages",
}


def _check_ends(node: Node, netlist: Netlist) -> None:
    """Tuples with tiles of dynamic size have words of the same width at both ends of a channel."""
    for stream, channel in zip(node.inputs, netlist.inputs(node), strict=True):
        written, read = netlist.widths(channel)
        if written != read and isinstance(channel.element, Tuple) and is_dynamic(channel.element):
            sender, reader = (
                netlist.owner(netlist.graph.nodes[name]).name for name in (channel.producer[0], node.name)
            )
            raise FabricError(
                f"{node.describe()}: input {stream} carries {channel.element}, a tuple with tiles of dynamic size, in "
                f"words of {written} bytes, and reads words of {read}; both ends have to be as wide: "
                f"choose links.{sender}={read} or links.{reader}={written}"
            )


def _check_node(node: Node, fabric: FabricConfig) -> None:
    types = {f"input {stream}": stream.type for stream in node.inputs}
    types |= {f"output {node.operator.outputs[port] or port}": each for port, each in enumerate(node.output_types)}
    for where, each in types.items():
        for tile in each.element.tiles:
            if not tile.cols.is_static:
                raise FabricError(
                    f"{node.describe()}: {where} carries {tile}, a tile with a dynamic number of columns, and those of "
                    "a fabric are fixed; join rows in their stead, or lower the program to tiles of static size"
                )
        if each.rank > HIGHEST_RANK:
            raise FabricError(
                f"{node.describe()}: {where} has rank {each.rank}; the fabric's streams go up to {HIGHEST_RANK}"
            )
    access = node.operator.writes(node)
    if access is not None and not access.tile.is_static:
        raise FabricError(
            f"{node.describe()}: {access.tile} is a tile of dynamic size, and off-chip memory holds tiles of static "
            "size, as it does not say where one ends; store it with tile=(rows, columns) if all have the same rows, or "
            'cut it into rows first, with .flat_map(RetileStreamify(1, "row"))'
        )
    if access is not None and is_dynamic(node.input_types[access.port].element):
        rows, _ = access.tile.shape
        if rows > fabric.dynamic_rows:
            raise FabricError(
                f"{node.describe()}: it stores tiles of {rows} rows, but this fabric has room for "
                f"{fabric.dynamic_rows} in a tile of dynamic size; choose a fabric with dynamic_rows={rows}"
            )


def _check_references(node: Node, netlist: Netlist) -> None:
    """References to buffers go from what fills them to what reads them, and nowhere else."""
    for port, stream in enumerate(node.inputs):
        filler = netlist.graph.nodes[stream.producer].operator
        refers = any(isinstance(each, Buffer) for each in leaves(stream.element))
        if refers and not (node.operator.reads_buffers and port == 0 and filler.fills_buffers):
            raise FabricError(
                f"{node.describe()}: input {stream} carries {stream.element}; in a fabric the buffers of one bufferize "
                "are read by one streamify, right behind it: bufferize the stream once for each of its readers"
            )


def _check_dynamic(node: Node, netlist: Netlist) -> None:
    """Raise `FabricError` where ``node`` has tiles with a dynamic number of rows, and there is no hardware for that."""
    function = node.operator.function
    channels = [*netlist.inputs(node), *netlist.outputs(node)]
    if function is None or not any(is_dynamic(each.element) for each in channels if each is not None):
        return
    plan = plan_of(node, netlist.at(node))
    if not plan.takes_rows:
        mend = "choose link_bytes of a scalar or more" if isinstance(plan, VectorPlan | RowPlan) else PACKED
        raise FabricError(
            f"{node.describe()}: there is no hardware of the function {function.name!r} here for tiles with a dynamic "
            f"number of rows; {mend}"
        )


def _check_share(share: Share, fabric: FabricConfig) -> None:
    """A tile lies in one page; what is known to be larger than a scratchpad never fits."""
    buffer, what = share.buffer, share.filler.describe()
    tile = -(-buffer.tile.with_rows(fabric.dynamic_rows).bits // 8)
    if tile > fabric.page_bytes:
        rows, fewer = "", ""
        if is_dynamic(buffer.tile):
            rows, fewer = f" with {fabric.dynamic_rows} rows", ", or with fewer dynamic_rows"
        raise FabricError(
            f"{what}: a tile of its buffers has {tile} bytes{rows}, but a page of on-chip memory has "
            f"{fabric.page_bytes}; choose a fabric with page_bytes={1 << (tile - 1).bit_length()}{fewer}"
        )
    if all(each.is_static for each in buffer.shape):
        pages = -(-int(element_count(buffer.shape)) // share.slots)
        if pages > share.pages:
            raise FabricError(
                f"{what}: {buffer} takes {pages * fabric.page_bytes} bytes of on-chip memory, but a scratchpad has "
                f"{fabric.scratchpad_bytes}; make smaller buffers, or choose a fabric with more scratchpad_bytes"
            )
