"""Data that the script of a page draws and lists: bands of time, operators and channels, as small as they can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim_approx.explain.explanation import Explanation
from sim_approx.explain.limit import folded_cause, folded_shares, summed
from sim_approx.explain.timeline import timeline
from step.programs.folding import members
from step.running.result import Activity, ChannelEvents

BARS = 16
"""Bars of a histogram, at most."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Shares from none to all, in as many steps as there are digits."""

SHOWN = (Activity.BUSY, Activity.BLOCKED, Activity.STARVED)
"""Activities of which a band has a digit each; what is missing is finished."""


def digits(shares: np.ndarray) -> str:
    """``shares``, from 0 to 1, a digit each; what is more than nothing is at least one step."""
    steps = np.ceil(np.clip(shares, 0, 1) * (len(DIGITS) - 1) - 1e-9).astype(int)
    return np.frombuffer(DIGITS.encode(), np.uint8)[steps.ravel()].tobytes().decode()


def page_data(found: Explanation) -> dict[str, Any]:
    """All of it, as plain data: ``rows`` begin with their name, and end with the rows that they stand for."""
    lines = timeline(found)
    lengths = np.minimum(lines.width, found.cycles - lines.width * np.arange(len(lines.path)))
    shares = lines.spent / np.maximum(lengths, 1)
    places = {name: place for place, name in enumerate(lines.operators)}
    causes = [folded_cause(each, found.parts) for each in found.path.causes]
    shown = {cause: number for number, cause in enumerate(dict.fromkeys(causes[each] for each in lines.path.tolist()))}
    config = found.simulation.fabric.netlist.fabric.memory
    bands = {}
    for part, names in members(found.parts).items():
        of = [places[name] for name in names if name in places]
        rows = [(name, digits(shares[places[name]][list(SHOWN)].T)) for name in names] if len(of) > 1 else []
        if of:
            bands[part] = [part, digits(shares[of].mean(axis=0)[list(SHOWN)].T), rows]
    peak = config.bandwidth / config.beat_bytes
    return {
        "cycles": found.cycles,
        "width": lines.width,
        "bands": list(bands.values()),
        "all": digits(shares.mean(axis=0)[list(SHOWN)].T) if len(shares) else "",
        "memory": digits(lines.beats / np.maximum(lengths * peak, 1)) if found.simulation.fabric.memory else "",
        "bandwidth": config.bandwidth,
        "path": [shown[causes[each]] for each in lines.path.tolist()],
        "causes": [f"{each.what} ({each.why})" for each in shown],
        "shares": _path(found),
        "operators": _operators(found),
        "channels": _channels(found),
    }


def _path(found: Explanation) -> list[Any]:
    rows = []
    for (what, why), of in folded_shares(found).items():
        inner = [[name, why, 1, cycles] for name, cycles in of.items()] if len(of) > 1 else []
        rows.append([what if inner else next(iter(of)), why, len(of), sum(of.values()), inner])
    return rows


def _operators(found: Explanation) -> list[Any]:
    """By part its `_operator`, and those of all that it stands for."""
    rows = []
    for part, names in members(found.parts).items():
        there = [name for name in names if name in found.accounts]
        alone = [_operator(found, name, [name], {}) for name in there]
        if len(there) == 1:
            rows.append([*alone[0], []])
        elif there:
            rows.append([*_operator(found, part, there, found.parts), alone])
    return rows


def _operator(found: Explanation, title: str, names: Sequence[str], parts: Mapping[str, str]) -> list[Any]:
    """The title, how many there are, cycles busy, starved, blocked and finished of one on average, and those of the
    busiest one, on whom they starved, and by whom they were blocked."""
    each = summed(found, names, parts)
    spent = (each.busy, each.starved.total(), each.blocked.total(), each.finished)
    most = max(found.accounts[name].busy for name in names)
    means = [round(cycles / len(names)) for cycles in spent]
    return [title, len(names), *means, most, _names(each.starved), _names(each.blocked)]


def _names(cycles: Counter[str]) -> str:
    return ", ".join(f"{name} {each:,}" for name, each in cycles.most_common(2))


def _channels(found: Explanation) -> list[Any]:
    """By channel of the same parts: name, how many there are, tokens, the highest peak, its capacity, the share of the
    link that was used, and how long each number of tokens was in it."""
    assert found.result.events is not None
    folded: dict[str, list[tuple[list[Any], np.ndarray]]] = {}
    for each in found.simulation.fabric.netlist.channels:
        channel, name = found.result.channels[each.name], each.name
        owner = name if name in found.parts else name.rpartition(".")[0]
        part = found.parts.get(owner, owner)
        consumer = found.parts.get(each.consumer[0], each.consumer[0])
        key = f"{part if part != owner else name} -> {consumer}"
        held = _levels(found.result.events[name], channel.capacity, found.cycles)
        numbers = [channel.tokens, channel.peak, channel.capacity, round(found.usage.links[name], 4)]
        row = [f"{name} -> {each.consumer[0]}", 1, *numbers, _histogram(held)]
        folded.setdefault(key, []).append((row, held))
    rows = []
    for key, those in folded.items():
        inner = [row for row, _ in those]
        if len(inner) == 1:
            rows.append([*inner[0], []])
            continue
        tokens, peaks, capacities, used = ([row[place] for row in inner] for place in range(2, 6))
        together = np.zeros(max(len(held) for _, held in those))
        for _, held in those:
            together[: len(held)] += held
        count = len(inner)
        numbers = [round(sum(tokens) / count), max(peaks), max(capacities), round(sum(used) / count, 4)]
        rows.append([key, count, *numbers, _histogram(together), inner])
    return rows


def _levels(events: ChannelEvents, capacity: int, cycles: int) -> np.ndarray:
    """Cycles in which the channel held 0, 1, ... ``capacity`` tokens."""
    times, held = events.levels()
    return np.bincount(held, np.diff(np.minimum(np.append(times, cycles), cycles)), capacity + 1)


def _histogram(levels: np.ndarray) -> str:
    """A digit for each bar."""
    size = -(-len(levels) // BARS)
    bars = np.add.reduceat(levels, np.arange(0, len(levels), size))
    return digits(bars / max(levels.sum(), 1))
