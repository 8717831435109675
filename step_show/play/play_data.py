"""Data that the script of a page plays: the graph in its place, and all tokens and states, packed."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.explain.occupation import occupied
from sim_approx.explain.timeline import activities
from sim_approx.running.model_run import ModelRun
from step.errors import EnvironmentProblem, InputError
from step.lowering.netlist import Netlist
from step.programs.pictures.outline import call
from step.programs.pictures.sketch import sketch
from step.running.deadlock import Blockage, find_cycle
from step.running.output import COLOURS
from step.running.result import Activity, ChannelEvents, RunResult

MOST = 4_000_000
"""Tokens that a page can hold."""

BANDS = 400
"""Bands of time in the bar, at most."""

BETWEEN = 40
"""From layer to layer of the graph."""

STARVED, BUSY, BLOCKED, FINISHED = map(int, Activity)


def play_data(run: ModelRun, record: RunRecord, result: RunResult, waits: list[Blockage], first: int) -> dict[str, Any]:
    """The graph, and the ``result`` of the ``run`` from the cycle ``first`` to its end; ``waits``: those of a deadlock.

    Raises `InputError` for more tokens than a page can hold, and `EnvironmentProblem` where nothing lays out a graph.
    """
    assert result.events is not None
    windows = [window(result.events[each.name], first) for each in run.netlist.channels]
    tokens = sum(len(each.cycles) for each, _ in windows)
    if tokens > MOST:
        cycles = f"the {result.cycles - first:,} cycles have {tokens:,} tokens"
        raise InputError(f"{cycles}, and a page can play {MOST:,}: choose fewer cycles with --from and --to")
    states = _states(run, record, waits, first, result.cycles)
    width = -(-(result.cycles - first) // BANDS)
    spent = activities(run.fabric, record, result.cycles, width)[..., first // width :].sum(axis=1)
    arrays = [array for each, _ in windows for array in (each.cycles, each.control, each.leaves)] + states
    units, channels = _drawn(run.netlist)
    for drawn, each, (_, number) in zip(channels, run.netlist.channels, windows, strict=True):
        drawn |= {"number": number, "capacity": result.channels[each.name].capacity}
    return {
        "first": first,
        "end": result.cycles,
        "states": [each.name.lower() for each in Activity],
        "colours": COLOURS,
        "bands": (spent / spent.sum(axis=0)).round(3).tolist(),
        "units": units,
        "channels": channels,
        "waits": [[run.netlist.units.index(each.unit), each.channel.index] for each in find_cycle(waits)],
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


def _states(run: ModelRun, record: RunRecord, stuck: list[Blockage], first: int, end: int) -> list[np.ndarray]:
    """Two arrays for each unit: the cycles from which on its state is another one, and the states: an activity, and
    four times the number behind that of the channel that is waited for."""
    events, waits = record.events, record.waits
    finally_ = {each.unit.name: (STARVED, BLOCKED)[each.full] + 4 * (each.channel.index + 1) for each in stuck[::-1]}
    machines = np.concatenate([events["machine"], waits["machine"]])
    since = np.concatenate([events["cycle"], waits["since"]])
    until = np.minimum(np.concatenate([events["cycle"] + occupied(run.fabric, record), waits["end"]]), end)
    known = (waits["channel"] >= 0) & (waits["channel"] < len(run.netlist.channels))
    awaited = 4 * np.where(known, waits["channel"] + 1, 0)
    state = np.concatenate([np.full(len(events), BUSY), waits["activity"] + awaited])
    order = np.lexsort((since, machines))
    bounds = np.searchsorted(machines[order], np.arange(len(run.fabric.machines) + 1))
    found = []
    for name, machine in run.fabric.units.items():
        of = order[bounds[machine.order] : bounds[machine.order + 1]]
        # Before all and behind everything it is finished, unless something else begins then.
        cycles = np.append(0, np.stack([since[of], until[of]], axis=1))
        becomes = np.append(FINISHED, np.stack([state[of], np.full(len(of), FINISHED)], axis=1))
        last = np.append(np.diff(cycles) > 0, True)
        last &= cycles < end
        cycles, becomes = cycles[last], becomes[last]
        if stuck:
            cycles, becomes = np.append(cycles, end), np.append(becomes, finally_.get(name, FINISHED))
        other = np.append(True, np.diff(becomes) != 0)
        cycles, becomes = cycles[other], becomes[other]
        shown = int(np.searchsorted(cycles, first, side="right")) - 1
        found += [np.maximum(cycles[shown:], first), becomes[shown:]]
    return found


def _drawn(netlist: Netlist) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boxes of the units and ways of the channels, in the order of ``netlist``."""
    try:
        from step.programs.pictures.layered import placed
    except ModuleNotFoundError:
        raise EnvironmentProblem(
            "a page that plays a run needs the module grandalf; install it with: pip install 'step-fabric[show]'"
        ) from None
    picture, numbers = sketch(netlist.graph, netlist.fabric), {each.name: at for at, each in enumerate(netlist.units)}
    parts = {each.name: (each.operator, each.operator.function) for each in netlist.units}
    titles = {name: " ".join(each.name for each in of if each) for name, of in parts.items()}
    boxes = {name: replace(box, lines=[name, titles[name]]) for name, box in picture.boxes.items()}
    places, routes = placed(replace(picture, boxes=boxes), BETWEEN)
    units, channels = [], []
    for node in netlist.units:
        box = places[node.name]
        size = {"x": round(box.xy[0] - box.w / 2), "y": round(box.xy[1] - box.h / 2), "w": round(box.w), "h": box.h}
        said = {"name": node.name, "title": titles[node.name], "call": call(node.operator), "where": str(node.location)}
        units.append({**said, **size})
    for each in netlist.channels:
        producer, consumer = each.producer[0], each.consumer[0]
        ends = {"source": numbers[producer], "sink": numbers[consumer], "way": routes[producer, consumer][1:-1]}
        channels.append({"name": each.name, "type": str(each.type), "depth": each.depth, **ends})
    return units, channels
