"""Why a run did not reach the bandwidth of the off-chip memory, and which parameter to change to what.

What the critical path waits for in memory says which limit it is; the traffic and the memory's parameters say how far
to move it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from sim_approx.engine.record import RunRecord
from sim_approx.explain.causes import BANDWIDTH, DRAM, LATENCY, MEMORY, PORT, Cause
from sim_approx.memory.dram import DramChannel
from sim_approx.placing.site import PlacedFabric
from step.lowering.fabric import FABRIC, LIMITS, is_of_fabric
from step.lowering.off_chip import MemoryConfig
from step.running.result import Activity

REACHED = 0.9
"""Of what refresh leaves: a run that uses so much is said to use all."""

WAITS = 0.25
"""Of the critical path: below it, what moves fewer bytes is the demand."""

HANDLING = 4
"""Cycles of a request beside the memory: it is seen, its tile is seen, is handed on, and frees its slot."""

INTERLEAVES = [2**power for power in range(11)]
"""Those that are tried."""


@dataclass(frozen=True)
class Advice:
    """``text`` says why the bandwidth is not reached; ``settings`` (``name=value``) would raise it, if any would."""

    text: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traffic:
    """The beats of a run: by beat its ``port``, ``address``, and the ``latency`` until it is there."""

    port: np.ndarray
    address: np.ndarray
    latency: np.ndarray

    @classmethod
    def of(cls, fabric: PlacedFabric, record: RunRecord) -> Traffic:
        """The traffic of a fabric with a memory."""
        assert fabric.memory is not None
        events, order = record.events, fabric.memory.order
        beats = np.flatnonzero(events["machine"] >= order)
        port, address, latency = (events[name][beats] for name in ("machine", "number", "size"))
        return cls(port - order, address.astype(np.int64), latency)

    def channels(self, config: MemoryConfig) -> np.ndarray:
        """The memory channel of each beat."""
        return np.asarray(self.address // config.interleave % config.channels)

    def fullest(self, config: MemoryConfig) -> float:
        """Beats of the channel that has most of them, over the mean: on average of intervals of 64 beats a channel."""
        channels, size = self.channels(config), 64 * config.channels
        window = np.arange(len(channels)) // size
        counts = np.bincount(window * config.channels + channels, minlength=(window[-1] + 1) * config.channels)
        return float(counts.reshape(-1, config.channels).max(axis=1).sum() * config.channels / len(channels))

    def activations(self, config: MemoryConfig) -> int:
        """Rows that have to be opened if beats come in the order of the run, and refresh closes none."""
        dram = DramChannel(config)
        beats, at = np.unique(self.address, return_inverse=True)
        places = np.array(
            [[dram.place(beat, column) for column in range(dram.columns)] for beat in beats.tolist()], np.int64
        )
        bank, row = places[at].reshape(-1, 2).T
        banks = np.repeat(self.channels(config), dram.columns) * dram.dram.banks + bank
        order = np.argsort(banks, kind="stable")
        banks, rows = banks[order], row[order]
        return int(1 + np.sum((banks[1:] != banks[:-1]) | (rows[1:] != rows[:-1])))


def advice(fabric: PlacedFabric, record: RunRecord, shares: Mapping[Cause, int], cycles: int) -> Advice | None:
    """Advice for a run of ``cycles`` cycles, whose critical path has these ``shares``; None where no byte moves."""
    if fabric.memory is None or not cycles:
        return None
    config = fabric.netlist.fabric.memory
    beats = np.count_nonzero(record.events["machine"] >= fabric.memory.order)
    if not beats:
        return None
    used = beats * config.beat_bytes / (config.bandwidth * cycles)
    most = 1.0 if config.dram is None else 1 - config.dram.trfc / config.dram.trefi
    of_path = {why: shares.get(Cause(MEMORY, why), 0) / cycles for why in (LATENCY, BANDWIDTH, DRAM, PORT)}
    if used >= REACHED * most:
        more = _set("memory.channels", 2 * config.channels)
        text = f"bandwidth: {used:.1%} used, which is all that there is"
        return Advice(f"{text}; for more, --set {more[0]}" if more else text, more)
    head = f"bandwidth: {used:.1%} used, as "
    if sum(of_path.values()) < WAITS:
        what, why = next(each for each in shares if each.what != MEMORY)
        text = f"there is no demand: the critical path waits for memory in {sum(of_path.values()):.1%} of the cycles"
        return Advice(f"{head}{text}, most of it goes to {what} ({why})")
    traffic = Traffic.of(fabric, record)
    ports = len(np.unique(traffic.port))
    if ports * config.beat_bytes > config.bandwidth:  # the port that a long tile waits for is not what is short
        of_path[DRAM if config.dram else BANDWIDTH] += of_path.pop(PORT)
    match max(of_path, key=lambda each: of_path[each]):
        case _ if (found := _channels(traffic, config)) and of_path[BANDWIDTH] + of_path[DRAM] >= WAITS / 2:
            pass
        case why if why == DRAM:
            found = _rows(traffic, config)
        case why if why == BANDWIDTH:
            found = Advice(
                f"all channels are taken while {of_path[BANDWIDTH]:.1%} of the path waits for them, and idle else",
                _set("memory.channels", 2 * config.channels),
            )
        case why if why == PORT:
            found = _ports(fabric, ports, of_path[PORT])
        case _:
            found = _in_flight(fabric, record, traffic)
    wanted = ":" + "".join(f" --set {each}" for each in found.settings) if found.settings else ""
    return Advice(f"{head}{found.text}{wanted}", found.settings)


def setting(name: str, value: int) -> str:
    """The parameter with this value, as ``--set`` takes it."""
    return f"{name if is_of_fabric(name) else FABRIC + name}={value}"


def _set(name: str, value: int) -> tuple[str, ...]:
    """The `setting`, if the parameter may have the value."""
    return (setting(name, value),) if value <= LIMITS[name].most else ()


def _channels(traffic: Traffic, config: MemoryConfig) -> Advice | None:
    """Beats that come together go to the same channel, and would not with another interleave."""
    fullest = traffic.fullest(config)
    if fullest < 1.5 or config.channels == 1:
        return None
    by_interleave = {each: traffic.fullest(replace(config, interleave=each)) for each in INTERLEAVES}
    best = min(by_interleave, key=lambda each: (round(by_interleave[each], 2), each))
    text = f"beats that come together meet in one memory channel: the fullest has {fullest:.1f} times the mean"
    if by_interleave[best] > fullest / 1.25:
        return Advice(f"{text}, whatever the interleave; lay tensors out so that neighbours are read together")
    return Advice(f"{text}; {by_interleave[best]:.1f} times with", (f"memory.interleave={best}",))


def _rows(traffic: Traffic, config: MemoryConfig) -> Advice:
    """DRAM: too few beats of a row come together."""
    dram = config.dram
    assert dram is not None
    beats, wanted = len(traffic.port) * config.columns, ceil(dram.tfaw / (4 * dram.burst))
    run = beats / traffic.activations(config)
    if run >= wanted:
        return Advice(
            f"banks are busy although {run:.1f} beats of a row come together: reads and writes turn the bus around, or "
            f"beats of one bank group follow each other every {dram.tccd_l} clocks instead of {dram.burst}"
        )
    text = (
        f"bursts are short: {run:.1f} beats of a row come together, where {wanted} are wanted, as four rows may be "
        f"opened in {dram.tfaw} clocks and a beat has {dram.burst}"
    )
    interleaves = [each for each in INTERLEAVES if each > config.interleave]
    longer = {each: beats / traffic.activations(replace(config, interleave=each)) for each in interleaves}
    best = next((each for each in interleaves if longer[each] >= wanted), max(longer, key=lambda each: longer[each]))
    if longer[best] < 1.25 * run:
        return Advice(f"{text}; larger tiles, or tiles that lie together, make them longer")
    return Advice(f"{text}; {longer[best]:.1f} with", (f"memory.interleave={best}",))


def _ports(fabric: PlacedFabric, ports: int, share: float) -> Advice:
    """Each load or store moves a beat a cycle at most, and its link a word."""
    config, width = fabric.netlist.fabric.memory, ports * fabric.netlist.fabric.memory.beat_bytes
    text = (
        f"a load or store moves a beat of {config.beat_bytes} bytes a cycle, for which {share:.1%} of the path waits: "
        f"{ports} of them move {width:,} at most, of {config.bandwidth:,.4g} bytes a cycle"
    )
    wider = 2 * config.beat_bytes
    links = _set("link_bytes", wider) if fabric.netlist.fabric.link_bytes < wider else ()
    fits = config.dram is None or wider <= config.dram.row_bytes
    return Advice(text, (*_set("memory.beat_bytes", wider), *links) if fits else ())


def _in_flight(fabric: PlacedFabric, record: RunRecord, traffic: Traffic) -> Advice:
    """Loads wait for their tiles: with too few of them under way, or for a single one."""
    assert fabric.memory is not None
    config, outstanding = fabric.netlist.fabric.memory, fabric.netlist.fabric.outstanding
    loads = [each for each in fabric.memory.ports if not each.writes]
    counts = np.bincount(traffic.port, minlength=len(fabric.memory.ports))
    issuing = np.array([each.asks.writer.order for each in loads], np.int64)
    waits = record.waits
    blocked = (waits["activity"] == Activity.BLOCKED) & np.isin(waits["machine"], issuing)
    full = int((waits["end"] - waits["since"])[blocked].sum())
    latency = float(traffic.latency.mean())
    busy = [each for each in loads if counts[each.number]]
    text = f"loads wait for memory, which takes {latency:.0f} cycles"
    if not busy or not full:
        return Advice(f"{text}, and nothing else is asked for meanwhile: one tile decides what is asked for next")
    rate = min(1.0, config.bandwidth / config.beat_bytes / len(busy))
    moved = sum(int(counts[each.number]) for each in busy)
    beats = max(1, round(moved / sum(counts[each.number] / each.beats for each in busy)))
    wanted = ceil(rate * (latency + HANDLING + beats) / beats)
    if wanted <= outstanding:
        return Advice(f"{text}, and {outstanding} tiles under way for a load would be enough: those who read them wait")
    wanted = min(wanted, LIMITS["outstanding"].most)
    return Advice(
        f"too few requests are outstanding: {outstanding} tiles of {beats} beats a load, where {latency:.0f} cycles of "
        f"latency want {wanted}",
        _set("outstanding", wanted),
    )
