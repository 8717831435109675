"""The cycle-accurate back end: the program's RTL under Verilator."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cosim.running.bench_run import NO_LIMIT, memory_image, simulate, source_transfers, wave_kind
from cosim.running.failure import broken_off, failure
from cosim.running.run_files import RawRun
from hw.design.emit import design_of
from hw.links.layout import input_formats
from hw.links.packing import unpack_tiles, unpack_transfers
from step.errors import SimulationError, StreamFault
from step.host.files import cache_directory
from step.host.progress import Progress, silent
from step.language.graph import Graph, Node
from step.language.operator import Access
from step.language.tiling import TiledTensor
from step.language.tokens import Token
from step.language.validate import check_outputs
from step.lowering.fabric import FabricConfig
from step.lowering.feasible import check_feasible
from step.lowering.memory import memory_map, scratchpads
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.programs.data.stored import as_output
from step.programs.prepare import Prepared, prepare
from step.running.backend import Backend
from step.running.contracts import no_room
from step.running.interpreter import OnToken
from step.running.result import ChannelResult, OperatorResult, RunResult, Status, channel_events, control_token
from step.running.traffic import traffic

_STATUS = {"finished": Status.FINISHED, "stalled": Status.DEADLOCK, "runaway": Status.RUNAWAY, "fault": Status.FAULT}


def run(
    program: Prepared | Netlist | Graph,
    inputs: Mapping[str, Any] | BoundInputs | None = None,
    fabric: FabricConfig | None = None,
    *,
    events: bool = False,
    max_cycles: int | None = None,
    waves: Path | None = None,
    optimize: bool = True,
    progress: Progress = silent,
    on_token: OnToken | None = None,
) -> RunResult:
    """Simulate the RTL of ``program``; ``waves`` is a .vcd file to write.

    ``on_token`` is told of every token that leaves through a sink, some 0.2 s after it did.

    Raises `Deadlock`, `Runaway` (more than ``max_cycles`` cycles) and `StreamFault`, each with the result up to there
    as its ``result``; `InputError`, `FabricError`, `BuildError` and `EnvironmentProblem`.
    """
    prepared = prepare(program, inputs, fabric)
    found, _ = run_rtl(
        prepared, max_cycles=max_cycles, waves=waves, optimize=optimize, progress=progress, on_token=on_token
    )
    return found if events else replace(found, events=None)


def run_rtl(
    prepared: Prepared,
    *,
    max_cycles: int | None = None,
    waves: Path | None = None,
    optimize: bool = True,
    progress: Progress = silent,
    on_token: OnToken | None = None,
) -> tuple[RunResult, RawRun]:
    """Like `run`, with the record of the simulation, as `cosim.comparing.compare` wants to know its speed."""
    wave_kind(waves)  # told before the work, as is a cache that can not be
    cache_directory()
    check_outputs(prepared.graph)
    netlist, data = prepared.netlist, prepared.data
    check_feasible(netlist)  # before what has no width is packed
    memory, sources = memory_image(netlist, data), source_transfers(netlist, data)
    with tempfile.TemporaryDirectory(prefix="step-verilog-") as directory:
        design = design_of(netlist, directory, probes=True, progress=progress)
        progress("building the simulator")
        try:
            raw = simulate(
                directory,
                sources=sources,
                memory=memory,
                max_cycles=min(max_cycles or NO_LIMIT, NO_LIMIT),
                waves=waves,
                optimize=optimize,
                progress=progress,
                leaving=None if on_token is None else partial(_left, netlist, on_token),
            )
        except SimulationError as broken:
            raise broken_off(netlist, data, broken) from None
    capacities = {each["name"]: each["capacity"] for each in design.sidecar["channels"]}
    error = failure(netlist, data, raw, capacities)
    if error is not None:
        error.result = _result(netlist, raw, capacities, error)
        raise error
    return _result(netlist, raw, capacities, None), raw


RTL = Backend(run, timed=True, outputs=True)


def _left(netlist: Netlist, tell: OnToken, name: str, transfers: list[int]) -> None:
    """Tell of the token that left in these ``transfers`` through the sink ``name``."""
    node = netlist.graph.nodes[name]
    (format,) = input_formats(node, netlist)
    (token,) = unpack_transfers(transfers, node.inputs[0].element, format)
    if not token.done:
        tell(name, token)


def _result(netlist: Netlist, raw: RawRun, capacities: Mapping[str, int], error: SimulationError | None) -> RunResult:
    fillers = [share.filler.name for pad in scratchpads(netlist) for share in pad.shares]
    activity = dict(zip((node.name for node in netlist.units), raw.activity.tolist(), strict=True))
    return RunResult(
        backend="rtl",
        program=netlist.graph.name,
        status=Status.FAULT if isinstance(error, StreamFault) else _STATUS[raw.status],
        cycles=raw.cycles,
        outputs=_outputs(netlist, raw),
        operators={
            name: OperatorResult(busy, starved, blocked, finished)
            for name, (starved, busy, blocked, finished) in activity.items()
        },
        channels={
            each.name: ChannelResult(int(raw.tokens[each.index]), int(raw.peak[each.index]), capacities[each.name])
            for each in netlist.channels
        },
        wall_seconds=raw.seconds,
        arrivals=_arrivals(netlist, raw),
        error=None if error is None else str(error),
        buffers=dict(zip(fillers, (netlist.fabric.page_bytes * int(peak) for peak, _ in raw.pages), strict=True)),
        buffer_bytes=netlist.fabric.page_bytes * raw.all_pages,
        traffic=traffic(netlist, raw.beats),
        events=channel_events([each.name for each in netlist.channels], raw.enters, raw.leaves, raw.cycles),
    )


def _outputs(netlist: Netlist, raw: RawRun) -> dict[str, list[Token]]:
    """Tokens that left through sinks, tiles that were stored, and declared tensors that were; without Done."""
    outputs: dict[str, list[Token]] = {}
    layout, beat = memory_map(netlist), netlist.fabric.memory.beat_bytes
    for node in netlist.units:
        if node.operator.hands_out:
            (format,) = input_formats(node, netlist)
            tokens = unpack_transfers(raw.sinks[node.name], node.inputs[0].element, format)
            outputs[node.name] = [token for token in tokens if not token.done]
        elif (access := node.operator.writes(node)) is not None:
            region = layout.stores[node.name]
            content = raw.memory[region.base * beat : (region.base + region.beats) * beat]
            if access.tensor is None:
                outputs[node.name] = _stored(netlist, node, access, raw, content, region.tiles)
            else:
                tiling = TiledTensor(netlist.graph.tensors[access.tensor], access.tile.shape)
                outputs[access.tensor] = as_output(tiling.extents, unpack_tiles(content, access.tile, beat))
    return outputs


def _stored(netlist: Netlist, node: Node, access: Access, raw: RawRun, content: bytes, room: int) -> list[Token]:
    """The tokens that a store wrote: its tiles from memory, their stops from the log of its channel.

    Raises `StreamFault` where there were more than its region has ``room`` for.
    """
    controls = raw.entered(netlist.by_consumer[node.name, access.port].index)
    if (count := int((controls & 2 > 0).sum())) > room:
        raise no_room(node, count)
    tiles = iter(unpack_tiles(content, access.tile, netlist.fabric.memory.beat_bytes))
    return [control_token(int(each), next(tiles) if each & 2 else None) for each in controls if not each & 1]


def _arrivals(netlist: Netlist, raw: RawRun) -> dict[str, list[int]]:
    """The input port of every data token that an operator took in order of arrival."""
    orders: dict[str, list[int]] = {}
    for node in netlist.units:
        inputs = netlist.inputs(node)
        ports = {inputs[port].index: port for port in node.operator.arrival_ports(len(inputs))}
        if ports:
            taken = raw.leaves["channel"][np.isin(raw.leaves["channel"], list(ports))]
            data = Counter(raw.enters["channel"][raw.enters["control"] & 1 == 0].tolist())
            order = orders[node.name] = []
            for channel in taken.tolist():
                if data[channel]:  # what leaves last, behind all data, is Done
                    data[channel] -= 1
                    order.append(ports[channel])
    return orders
