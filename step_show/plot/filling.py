"""Filling of the FIFOs: the most that was in each, and over the time of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from step.errors import InputError
from step.host.amounts import prefix
from step.host.figures import BLACK, BLUE, SKY, axes_for, in_counts
from step.host.names import unknown
from step.language.types import with_rows
from step.lowering.netlist import Channel, Netlist
from step.programs.energy.activity import bits_of
from step.programs.prepare import prepare
from step.running.backend import Run
from step.running.result import ChannelEvents
from step_show.plot.parts import grouped
from step_show.plot.recorded import events_of

BANDS = 8
"""FIFOs over time, unless they are named."""

HEIGHT = 0.8
"""Of a band, of which the next one begins at 1."""

BINS = 400
"""Intervals, at most, of which the highest occupancy is shown."""


def fifos(run: Run, *, most: int = 24, ax: Any = None) -> Any:
    """Room in the FIFOs of ``run`` and the most that was in them, in bytes; behind the bars the same in tokens.

    Those that differ in numbers of their names are one bar, of which the tokens are those of the fullest one. The
    ``most`` that have the most room are shown. Tiles of dynamic size count with the most rows. Returns the axes, ``ax``
    or new ones. Raises `InputError` for a run without time, and where no FIFO carries values.
    """
    netlist = prepare(run.program).netlist
    sizes = {each.name: _bytes(each, netlist) for each in netlist.channels if each.element is not None}
    if not run.cycles or not sizes:
        raise InputError(f"no FIFO of {run.program.name} carries values")
    counted = run.result.channels
    bars = []
    for name, names in grouped(sizes).items():
        fullest = max(names, key=lambda each: counted[each].peak)
        room = sum(sizes[each] * counted[each].capacity for each in names)
        used = sum(sizes[each] * counted[each].peak for each in names)
        bars.append((room, used, f"{name} ({len(names)})" if len(names) > 1 else name, counted[fullest]))
    bars = sorted(bars, key=lambda each: -each[0])[:most]
    scale, si = prefix(bars[0][0])
    axes = axes_for(ax, (7, 1.6 + 0.22 * len(bars)))
    places = range(len(bars))
    axes.barh(places, [room / scale for room, *_ in bars], color=SKY, label="room")
    axes.barh(places, [used / scale for _, used, *_ in bars], color=BLUE, height=0.5, label="most at a time")
    for place, (room, _, _, each) in enumerate(bars):
        axes.text(room / scale, place, f" {each.peak:,} of {each.capacity:,}", va="center", fontsize=7)
    axes.set_yticks(places, [name for _, _, name, _ in bars], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set(title=f"{run.program.name}: FIFOs", xlabel=f"on-chip memory [{si}B]; behind the bars tokens")
    axes.legend(loc="lower right", frameon=False)
    return axes


def occupancy(run: Run, channels: Sequence[str] = (), *, ax: Any = None) -> Any:
    """Tokens in each of ``channels`` over the cycles of ``run``, a band each, as high as the FIFO is deep.

    Behind the bands stands the most that there was. Without names it is the eight FIFOs with the most bytes on average,
    one of those that differ in numbers of their names. Of many changes the highest of every interval is shown.

    Returns the axes, ``ax`` or new ones. Raises `InputError` for other names, and for a run without time.

    >>> step.plot.occupancy(step.run(program, "approx"), ["x"]).get_xlabel()
    'cycle'
    """
    netlist, counted = prepare(run.program).netlist, run.result.channels
    for name in channels:
        if name not in counted:
            raise InputError(unknown("channel", name, counted))
    events = events_of(run)
    shown = list(channels) or _fullest(netlist, events, run.cycles)
    axes = axes_for(ax, (7, 1.4 + 0.55 * len(shown)))
    for place, name in enumerate(shown):
        edges, levels = _levels(events[name], run.cycles)
        heights = HEIGHT * levels / counted[name].capacity - place
        axes.stairs(heights, edges, baseline=-place, fill=True, color=BLUE, linewidth=0.8)
        axes.axhline(-place, color=BLACK, linewidth=0.5)
        axes.axhline(-place + HEIGHT, color=BLACK, linewidth=0.5, linestyle=":")
        text = f" {counted[name].peak:,} of {counted[name].capacity:,}"
        axes.text(run.cycles, -place + HEIGHT / 2, text, va="center", fontsize=8)
    axes.set_yticks([HEIGHT / 2 - place for place in range(len(shown))], shown, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set(title=f"{run.program.name}: FIFOs, up to their depths in tokens", xlabel="cycle", xlim=(0, run.cycles))
    axes.set_ylim(0.85 - len(shown), 1)
    in_counts(axes.xaxis)
    return axes


def _bytes(channel: Channel, netlist: Netlist) -> int:
    """Words of a value in ``channel``."""
    assert channel.element is not None
    return int(bits_of(with_rows(channel.element, netlist.fabric.dynamic_rows))) // 8


def _fullest(netlist: Netlist, events: Mapping[str, ChannelEvents], cycles: int) -> list[str]:
    """The channels that have the most bytes on average, one of a group."""
    bytes_on_average = {
        each.name: _bytes(each, netlist) * _waited(events[each.name], cycles)
        for each in netlist.channels
        if each.element is not None
    }
    fullest = [max(names, key=bytes_on_average.__getitem__) for names in grouped(bytes_on_average).values()]
    return sorted(fullest, key=lambda each: -bytes_on_average[each])[:BANDS]


def _waited(events: ChannelEvents, cycles: int) -> int:
    """Cycles that all tokens together were in the channel."""
    stayed = len(events.cycles) - len(events.leaves)
    return int(events.leaves.sum() - events.cycles.sum()) + stayed * cycles


def _levels(events: ChannelEvents, cycles: int) -> tuple[np.ndarray, np.ndarray]:
    """Cycles from which on the occupancy is another one, with the end of the run; and how many tokens there are.

    Of more than `BINS` changes the highest of every interval.
    """
    times, levels = events.levels()
    inside = times < cycles
    times, levels = times[inside], levels[inside]
    if len(times) > BINS:
        starts = np.linspace(0, cycles, BINS, endpoint=False).astype(np.int64)
        before = levels[np.searchsorted(times, starts, side="right") - 1]
        firsts = np.searchsorted(times, starts)
        inner = np.maximum.reduceat(np.append(levels, 0), firsts)
        empty = firsts == np.append(firsts[1:], len(times))
        times, levels = starts, np.where(empty, before, np.maximum(before, inner))
    return np.append(times, cycles), levels
