"""Data that the script of a page draws and lists: bands of time, operators and channels, as small as they can be."""

from __future__ import annotations

from collections import Counter
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
    """By part: its name, how many there are, cycles busy, starved, blocked and finished of one on average, and those
    of the busiest one, on whom they starved, and by whom they were blocked."""
    rows = []
    for part, names in members(found.parts).items():
        inner = [_operator(found, name) for name in names if name in found.accounts]
        if len(inner) == 1:
            rows.append([*inner[0], []])
        elif inner:
            means = [round(sum(row[place] for row in inner) / len(inner)) for place in range(2, 6)]
            of = summed(found, names, found.parts)
            most = max(row[2] for row in inner)
            rows.append([part, len(inner), *means, most, _names(of.starved), _names(of.blocked), inner])
    return rows


def _operator(found: Explanation, name: str) -> list[Any]:
    each = found.accounts[name]
    spent = (each.busy, each.starved.total(), each.blocked.total(), each.finished)
    return [name, 1, *spent, each.busy, _names(each.starved), _names(each.blocked)]


def _names(cycles: Counter[str]) -> str:
    return ", ".join(f"{name} {each:,}" for name, each in cycles.most_common(2))


def _channels(found: Explanation) -> list[Any]:
    """By channel of the same parts: name, how many there are, tokens, the highest peak, its capacity, the share of the
    link that was used, and how long each number of tokens was in it."""
    assert found.result.events is not None
    folded: dict[str, list[list[Any]]] = {}
    levels: dict[str, list[np.ndarray]] = {}
    for each in found.simulation.fabric.netlist.channels:
        channel, name = found.result.channels[each.name], each.name
        owner = name if name in found.parts else name.rpartition(".")[0]
        part = found.parts.get(owner, owner)
        consumer = found.parts.get(each.consumer[0], each.consumer[0])
        key = f"{part if part != owner else name} -> {consumer}"
        held = _levels(found.result.events[name], channel.capacity, found.cycles)
        full = f"{name} -> {each.consumer[0]}"
        row = [full, 1, channel.tokens, channel.peak, channel.capacity, round(found.usage.links[name], 4)]
        folded.setdefault(key, []).append([*row, _histogram(held)])
        levels.setdefault(key, []).append(held)
    rows = []
    for key, inner in folded.items():
        if len(inner) == 1:
            rows.append([*inner[0], []])
            continue
        tokens = round(sum(row[2] for row in inner) / len(inner))
        used = round(sum(row[5] for row in inner) / len(inner), 4)
        peak, capacity = max(row[3] for row in inner), max(row[4] for row in inner)
        together = np.zeros(max(map(len, levels[key])))
        for held in levels[key]:
            together[: len(held)] += held
        rows.append([key, len(inner), tokens, peak, capacity, used, _histogram(together), inner])
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
