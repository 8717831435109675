"""A clocked reference: every machine is tried in every cycle, and a channel is only its history.

Slow, and written apart from the engine: it takes the rules and parameters of the machines, but gives the rules other
words for need, room, take and put, and has its own memory, latencies, counters and ending.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NoReturn

from sim_approx.engine.words import Banks
from sim_approx.memory.channels import OffChipMemory
from sim_approx.memory.dram import DramChannel
from sim_approx.placing.build import build_fabric
from sim_approx.placing.site import PlacedFabric, TimingOf
from step.firing.machine import COMPUTES, ENDS, Channel, Machine, Unread
from step.firing.words import bits
from step.language.faults import Fault
from step.language.tokens import BLANK, Token
from step.lowering.netlist import Netlist
from step.programs.data.inputs import BoundInputs
from step.running.result import control_word

STARVED, BUSY, BLOCKED, FINISHED = range(4)


class Stop(Exception):
    """The rule can not fire; ``args[0]`` is the activity."""


class Broken(Exception):
    """The rule found a fault."""


@dataclass
class Wire:
    """The history of one channel: cycles in which tokens were claimed, entered and left."""

    slots: int
    lag: int = 0
    tokens: list[Token] = field(default_factory=list)
    claims: list[int] = field(default_factory=list)
    enters: list[int] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def visible(self, now: int) -> bool:
        """Whether there is a token that entered before ``now`` and did not leave."""
        return len(self.leaves) < len(self.enters) and self.enters[len(self.leaves)] + self.lag < now

    def has_space(self, now: int) -> bool:
        """Whether fewer slots than there are were claimed and not left before ``now``."""
        left = bisect_left(self.leaves, now)
        return len(self.claims) - left < self.slots

    def since(self) -> int:
        """The first cycle in which the front token could be read as such."""
        front = len(self.leaves)
        return max(self.enters[front] + 1 + self.lag, self.leaves[-1] + 1 if self.leaves else 0)

    def level(self, now: int) -> int:
        """Occupancy after cycle ``now``."""
        return sum(cycle <= now for cycle in self.enters) - len(self.leaves)


def at_rest(channel: Channel) -> Wire:
    """``channel`` before the first cycle, when there may be tokens already."""
    before = [-1 - channel.lag] * len(channel.tokens)
    return Wire(channel.capacity, channel.lag, list(channel.tokens), before, before.copy())


@dataclass
class Unit:
    """A machine in the reference."""

    machine: Machine
    fire: Callable[[Machine], int | None]
    free_at: int = 0
    ended: bool = False
    broken: bool = False
    activities: list[int] = field(default_factory=list)


@dataclass
class Reference:
    """A run of the reference, until nothing moves; the first ``cycles`` of it count.

    `events` compares with `step.running.result.ChannelEvents`.
    """

    fabric: PlacedFabric
    wires: dict[Channel, Wire]
    units: list[Unit]
    status: str = ""
    cycles: int = 0
    faults: list[tuple[Machine, Fault]] = field(default_factory=list)
    levels: dict[Channel, list[int]] = field(default_factory=dict)
    now: int = 0
    memory_moved: int = -1
    beats: list[int] = field(default_factory=list)
    """That each port of the memory moved."""

    def stopped(self) -> int:
        """The first cycle after the last one in which a token moved on a channel of the program, or in memory."""
        wires = [self.wires[channel] for channel in self.fabric.channels]
        return 1 + max(self.memory_moved, *(max([-1, *wire.enters, *wire.leaves]) for wire in wires))

    def counts(self, unit: Unit) -> list[int]:
        """The cycles that count in each activity."""
        return [unit.activities[: self.cycles].count(activity) for activity in (STARVED, BUSY, BLOCKED, FINISHED)]

    def peak(self, channel: Channel) -> int:
        """The highest occupancy after a cycle that counts."""
        return max(self.levels[channel][: self.cycles], default=0)

    def events(self) -> dict[str, tuple[list[int], list[int], list[int]]]:
        """Per channel, the cycle in which each token entered, its control, and the cycles in which tokens left."""
        found = {}
        for each, channel in zip(self.fabric.netlist.channels, self.fabric.channels, strict=True):
            wire = self.wires[channel]
            count = sum(cycle < self.cycles for cycle in wire.enters)
            leaves = [cycle for cycle in wire.leaves if cycle < self.cycles]
            found[each.name] = wire.enters[:count], [control_word(token) for token in wire.tokens[:count]], leaves
        return found


def clocked(netlist: Netlist, data: BoundInputs, timing_of: TimingOf | None) -> Reference:
    """Run ``netlist`` cycle by cycle, until nothing moved for as long as anything takes."""
    fabric = build_fabric(netlist, data, netlist.deciding, timing_of)
    memory_config = netlist.fabric.memory
    longest = max(machine.latency + machine.interval for machine in fabric.machines)
    patience = longest + memory_config.latency + memory_config.interval + 8
    wires = {channel: at_rest(channel) for channel in fabric.all_channels}
    latency = {channel: machine.latency for machine in fabric.machines for channel in machine.outputs}
    run = Reference(fabric, wires, [])
    closed_until: dict[Channel, int] = {}

    def need(channel: Channel) -> Token:
        if not wires[channel].visible(run.now):
            raise Stop(STARVED)
        return wires[channel].tokens[len(wires[channel].leaves)]

    def front(channel: Channel) -> Token | None:
        return wires[channel].tokens[len(wires[channel].leaves)] if wires[channel].visible(run.now) else None

    def waiting(channels: Sequence[Channel], mask: int) -> int:
        return sum(1 << port for port in bits(mask) if wires[channels[port]].visible(run.now))

    def oldest(channels: Sequence[Channel], mask: int) -> int:
        seen = [(wires[channels[port]].since(), port) for port in bits(waiting(channels, mask))]
        return 1 << min(seen)[1] if seen else 0

    def going(channels: Sequence[Channel]) -> int:
        fronts = [front(each) for each in channels]
        return sum(1 << port for port, token in enumerate(fronts) if token is None or not token.done)

    def need_each(channels: Sequence[Channel], mask: int) -> Token:
        *_, found = BLANK, *(need(channels[port]) for port in bits(mask))
        return found

    def need_any(channels: Sequence[Channel], mask: int) -> None:
        if not waiting(channels, mask):
            raise Stop(STARVED)

    def room(channel: Channel) -> None:
        if not isinstance(channel, Unread) and not wires[channel].has_space(run.now):
            raise Stop(BLOCKED)
        if run.now < closed_until.get(channel, 0):
            raise Stop(BLOCKED)

    def reserve(channel: Channel, cycles: int) -> None:
        closed_until[channel] = run.now + cycles

    passing: dict[tuple[Banks, int], dict[int, int]] = {}
    """By machine at some banks, in which one it is in a cycle."""

    def enter(banks: Banks, who: int, place: int) -> None:
        for (where, other), bank_in in passing.items():
            if where is banks and other != who and bank_in.get(run.now) == place % banks.count:
                raise Stop(BLOCKED)

    def pass_through(banks: Banks, who: int, place: int, cycles: int) -> None:
        passing[banks, who] = {run.now + each: (place + each) % banks.count for each in range(cycles)}

    def take(channel: Channel) -> None:
        wires[channel].leaves.append(run.now)

    def put(channel: Channel, token: Token) -> None:
        put_at(channel, token, run.now + latency[channel])

    def put_at(channel: Channel, token: Token, cycle: int) -> None:
        if not isinstance(channel, Unread):
            wires[channel].claims.append(run.now)
            wires[channel].enters.append(cycle)
            wires[channel].tokens.append(token)

    def fault(code: Fault) -> NoReturn:
        raise Broken(code)

    def aligned(*tokens: Token) -> Token:
        for token in tokens[1:]:
            if (token.done, token.rank, token.stop) != (tokens[0].done, tokens[0].rank, tokens[0].stop):
                raise Broken(Fault.STOPS_DISAGREE)
        return tokens[0]

    words: Mapping[str, Any] = {
        "need": need, "front": front, "oldest": oldest, "need_any": need_any, "going": going, "room": room,
        "take": take, "put": put, "reserve": reserve, "fault": fault, "enter": enter, "pass_through": pass_through,
        "need_all": lambda channels: [need(channel) for channel in channels], "aligned": aligned,
        "need_each": need_each, "waiting": waiting,
    }  # fmt: skip
    for machine in fabric.machines:
        if not isinstance(machine, OffChipMemory):
            rule = type(machine).fire
            run.units.append(Unit(machine, FunctionType(rule.__code__, {**rule.__globals__, **words})))
    memory = ClockedMemory(fabric.memory, netlist, need, take, put_at, wires) if fabric.memory else None
    if memory is not None:
        run.beats = memory.granted
    moved = 0
    while True:
        now = run.now
        for unit in run.units:
            activity = STARVED
            if unit.ended:
                activity = FINISHED
            elif now < unit.free_at:
                activity = BUSY
            elif not unit.broken:
                try:
                    outcome = unit.fire(unit.machine)
                except Stop as stop:
                    activity = stop.args[0]
                except Broken as broken:
                    unit.broken = True
                    run.faults.append((unit.machine, broken.args[0]))
                    if run.status != "fault":
                        run.status, run.cycles = "fault", now
                else:
                    activity = BUSY
                    unit.free_at = now + (unit.machine.interval if outcome == COMPUTES else 1)
                    unit.ended = outcome == ENDS
                    moved = now
            unit.activities.append(activity)
        if memory is not None and memory.cycle(now):
            moved = now
            run.memory_moved = memory.moved
        for channel, wire in wires.items():
            run.levels.setdefault(channel, []).append(wire.level(now))
        run.now = now + 1
        ended = all(unit.ended for unit in run.units if unit.machine.ends_run) and (memory is None or memory.quiet(now))
        if ended and not run.status:
            run.status, run.cycles = "finished", run.now
        if now - moved > patience:
            if not run.status:
                run.status, run.cycles = "deadlock", run.now
            return run


class ClockedMemory:
    """Every cycle: what every port presents, and who is granted."""

    def __init__(
        self,
        memory: OffChipMemory,
        netlist: Netlist,
        need: Callable[[Channel], Token],
        take: Callable[[Channel], None],
        put_at: Callable[[Channel, Token, int], None],
        wires: dict[Channel, Wire],
    ) -> None:
        self._wires = wires
        self._config = netlist.fabric.memory
        self._need, self._take, self._put_at = need, take, put_at
        self._ports = [(port.asks, port.arrives, port.beats, port.writes) for port in memory.ports]
        self._beat = [0] * len(self._ports)
        self.granted = [0] * len(self._ports)
        self._last = [-1] * self._config.channels
        self._free = [0] * self._config.channels
        self._out_of_turn = [0] * self._config.channels
        self._drams = [DramChannel(self._config) for _ in range(self._config.channels)] if self._config.dram else []
        self._arrived = [-1] * len(self._ports)
        self._visible = -1
        self.moved = -1
        """The last cycle in which a granted beat is still on its way."""

    def quiet(self, now: int) -> bool:
        """Whether all that was written is visible."""
        waiting = any(
            len(self._wires[asks].enters) > len(self._wires[asks].leaves)
            for asks, _, _, writes in self._ports
            if writes
        )
        return not waiting and now >= self._visible

    def cycle(self, now: int) -> bool:
        """One cycle; returns whether something was granted or is on its way."""
        presented: dict[int, int] = {}
        for number, (asks, _, _, writes) in enumerate(self._ports):
            try:
                presented[number] = self._need(asks).value + (0 if writes else self._beat[number])
            except Stop:
                continue
        for channel in range(self._config.channels):
            wanting = [
                number
                for number, address in presented.items()
                if address // self._config.interleave % self._config.channels == channel
            ]
            if wanting and now >= self._free[channel]:
                self._choose(channel, {number: presented[number] for number in wanting}, now)
        return now < self.moved

    def _choose(self, channel: int, addresses: dict[int, int], now: int) -> None:
        """One of the ports that want a beat of ``channel``, or none."""
        winner = turn = min(number for number in [*addresses, 1 << 60] if number > self._last[channel])
        if turn == 1 << 60:
            winner = turn = min(addresses)
        passed = now
        if self._drams:
            dram, clock = self._drams[channel], self._drams[channel].clock_of(now)
            if not dram.has_room(clock):
                return
            dram.refresh(clock)
            if self._out_of_turn[channel] < dram.dram.out_of_turn:
                ready = {
                    number: dram.plan(*dram.place(address), self._ports[number][3], clock)[1]
                    for number, address in addresses.items()
                }
                soonest = [number for number in addresses if ready[number] == min(ready.values())]
                winner = min([number for number in soonest if number >= turn] or soonest)
            self._out_of_turn[channel] = 0 if winner == turn else self._out_of_turn[channel] + 1
            end = dram.grant(addresses[winner], self._ports[winner][3], clock)
            passed = dram.cycle_of(end)
        self._last[channel], self._free[channel] = winner, now + self._config.interval
        self._arrived[winner] = max(self._arrived[winner] + 1, passed + self._config.latency)
        self._serve(winner, self._arrived[winner])

    def _serve(self, number: int, arrival: int) -> None:
        asks, arrives, beats, writes = self._ports[number]
        self.granted[number] += 1
        self._beat[number] = (self._beat[number] + 1) % beats
        if writes:
            self._visible = max(self._visible, arrival)
        self.moved = max(self.moved, arrival - (not writes))
        if writes or self._beat[number] == 0:
            self._take(asks)
        if arrives is not None and self._beat[number] == 0:
            self._put_at(arrives, Token(None), arrival)
