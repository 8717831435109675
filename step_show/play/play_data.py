"""Data that the script of a page plays: the graph in its place, and all tokens and states, packed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.explain.occupation import occupied
from sim_approx.running.model_run import ModelRun
from step.errors import EnvironmentProblem, InputError
from step.lowering.netlist import Netlist
from step.programs.pictures.outline import call
from step.programs.pictures.sketch import sketch
from step.running.deadlock import Blockage
from step.running.output import COLOURS
from step.running.result import Activity, ChannelEvents, RunResult

MOST = 4_000_000
"""Tokens that a page can hold."""

FINISHED = int(Activity.FINISHED)

INSIDE = -1
"""The channel of a wait for what is no channel of the program."""


def play_data(
    run: ModelRun, record: RunRecord, result: RunResult, cycle: list[Blockage], first: int = 0
) -> dict[str, Any]:
    """The graph, and the run from the cycle ``first`` to its end; ``cycle`` is that of the waits of a deadlock.

    Raises `InputError` for more tokens than a page can hold, and `EnvironmentProblem` where nothing lays out a graph.
    """
    assert result.events is not None
    netlist, end = run.netlist, result.cycles
    windows = [window(result.events[each.name], first) for each in netlist.channels]
    tokens = sum(len(each.cycles) for each, _ in windows)
    if tokens > MOST:
        shown = f"the {end - first:,} cycles have {tokens:,} tokens, and a page can play {MOST:,}"
        raise InputError(f"{shown}: choose fewer cycles with --from and --to")
    arrays = [array for each, _ in windows for array in (each.cycles, each.control, each.leaves)]
    arrays += [array for each in states(run, record, first, end) for array in each]
    units, channels = _drawn(netlist)
    for drawn, each, (_, number) in zip(channels, netlist.channels, windows, strict=True):
        drawn |= {"number": number, "capacity": result.channels[each.name].capacity}
    return {
        "first": first,
        "end": end,
        "states": [each.name.lower() for each in Activity],
        "colours": COLOURS,
        "units": units,
        "channels": channels,
        "waits": [[each.unit.name, each.channel.index] for each in cycle],
        "lengths": [len(each) for each in arrays],
        "packed": packed(arrays),
    }


def packed(arrays: list[np.ndarray]) -> str:
    """All ``arrays`` of integers as text: what each number is more than the one before it, so that what repeats is
    folded, little-endian in 4 bytes, compressed by zlib, in base64."""
    steps = np.concatenate([np.diff(each, prepend=0) for each in arrays]).astype("<i4")
    return base64.b64encode(zlib.compress(steps.tobytes())).decode()


def window(events: ChannelEvents, first: int) -> tuple[ChannelEvents, int]:
    """The tokens that are in the channel in the cycle ``first`` or enter it later, and the number of the first."""
    gone = int(np.searchsorted(events.leaves, first))
    return ChannelEvents(events.cycles[gone:], events.control[gone:], events.leaves[gone:]), gone


def states(run: ModelRun, record: RunRecord, first: int, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """By unit, the cycles from which on its state is another one, from ``first`` on, and the states: an activity, and
    four times the number behind that of the channel that is waited for."""
    events, waits = record.events, record.waits
    machines = np.concatenate([events["machine"], waits["machine"]])
    since = np.concatenate([events["cycle"], waits["since"]])
    until = np.minimum(np.concatenate([events["cycle"] + occupied(run.fabric, record), waits["end"]]), end)
    awaited = np.where(waits["channel"] < len(run.netlist.channels), waits["channel"], INSIDE).astype(np.int64)
    state = np.concatenate([np.full(len(events), int(Activity.BUSY)), waits["activity"] + 4 * (awaited + 1)])
    order = np.lexsort((since, machines))
    bounds = np.searchsorted(machines[order], np.arange(len(run.fabric.machines) + 1))
    for machine in run.fabric.units.values():
        of = order[bounds[machine.order] : bounds[machine.order + 1]]
        # Before all and behind everything it is finished, unless something else begins then.
        cycles = np.append(0, np.stack([since[of], until[of]], axis=1))
        becomes = np.append(FINISHED, np.stack([state[of], np.full(len(of), FINISHED)], axis=1))
        before = max(int(np.searchsorted(cycles, first, side="right")) - 1, 0)
        cycles, becomes = np.maximum(cycles[before:], first), becomes[before:]
        last = np.append(np.diff(cycles) > 0, True)
        cycles, becomes = cycles[last], becomes[last]
        other = np.append(True, np.diff(becomes) != 0)
        yield cycles[other], becomes[other]


def _drawn(netlist: Netlist) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boxes of the units and ways of the channels, in the order of ``netlist``."""
    try:
        from step.programs.pictures.layered import placed
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "a page that plays a run needs the module grandalf; install it with: pip install 'step-fabric[show]'"
        ) from None
    picture = sketch(netlist.graph, netlist.fabric)
    titles = {}
    for node in netlist.units:
        function = node.operator.function
        titles[node.name] = f"{node.operator.name} {function.name}" if function else node.operator.name
    boxes = {name: replace(box, lines=[name, titles[name]]) for name, box in picture.boxes.items()}
    places, routes = placed(replace(picture, boxes=boxes))
    units = []
    for node in netlist.units:
        box = places[node.name]
        size = {"x": round(box.xy[0] - box.w / 2), "y": round(box.xy[1] - box.h / 2), "w": round(box.w), "h": box.h}
        said = {"name": node.name, "title": titles[node.name], "call": call(node.operator)}
        units.append({**said, "where": str(node.location), **size})
    channels = []
    for each in netlist.channels:
        (producer, output), (consumer, port) = each.producer, each.consumer
        way = [[round(x), round(y)] for x, y in routes[producer, consumer].points[1:-1]]
        ends = {"from": producer, "output": output, "to": consumer, "input": port, "way": way}
        channels.append({"name": each.name, "type": str(each.type), "depth": each.depth, **ends})
    return units, channels
