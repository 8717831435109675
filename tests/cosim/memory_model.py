"""The off-chip memory once more, in plain Python and written from its rules alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_approx.memory.dram import DramChannel
from step.lowering.off_chip import MemoryConfig


@dataclass
class Port:
    """A port with its requests (gap, address, data; data None to read ``size`` beats), and what happened."""

    size: int
    requests: list[tuple[int, int, int | None]]
    taken: list[int] = field(default_factory=list)
    """Cycles in which a request was consumed."""
    responses: list[tuple[int, int]] = field(default_factory=list)
    """Cycle and data of each beat that came back."""
    visible: list[int] = field(default_factory=list)
    """Cycles from which on a beat that was written can be read."""
    ready_at: int = 0
    beat: int = 0

    @property
    def writes(self) -> bool:
        return bool(self.requests) and self.requests[0][2] is not None


def run(ports: list[Port], contents: list[int], config: MemoryConfig) -> list[int]:
    """Serve all requests (reads before writes in ``ports``); returns the contents afterwards.

    How long the beats of one channel of DRAM take is asked of `DramChannel`, which has tests of its own.
    """
    contents = list(contents)
    visible: dict[int, list[tuple[int, int]]] = {}
    channels, interleave = config.channels, config.interleave
    last, free, passed_over = [len(ports) - 1] * channels, [0] * channels, [0] * channels
    drams = [DramChannel(config) for _ in range(channels)] if config.dram else []
    for port in ports:
        if port.requests:
            port.ready_at = port.requests[0][0]
    cycle = 0
    while any(len(port.taken) < len(port.requests) for port in ports) or visible:
        for address, data in visible.pop(cycle, ()):
            contents[address] = data
        presented = {}
        for number, port in enumerate(ports):
            if len(port.taken) < len(port.requests) and cycle >= port.ready_at:
                presented[number] = port.requests[len(port.taken)][1] + port.beat
        for channel in range(channels):
            order = [(last[channel] + 1 + offset) % len(ports) for offset in range(len(ports))]
            wanting = [n for n in order if n in presented and presented[n] // interleave % channels == channel]
            if cycle < free[channel] or not wanting:
                continue
            winner, arrival = wanting[0], cycle + config.latency
            if config.dram is not None:
                dram, clock = drams[channel], -(-cycle * config.dram.fabric_ps // config.dram.clock_ps)
                if not dram.has_room(clock):
                    continue
                dram.refresh(clock)
                if passed_over[channel] < config.dram.out_of_turn:
                    winner = min(wanting, key=lambda n: plan(dram, ports[n], presented[n], clock))
                passed_over[channel] = 0 if winner == wanting[0] else passed_over[channel] + 1
                end = dram.grant(presented[winner], ports[winner].writes, clock)
                arrival = -(-end * config.dram.clock_ps // config.dram.fabric_ps) + config.latency
            last[channel], free[channel] = winner, cycle + config.interval
            port, address = ports[winner], presented[winner]
            data = port.requests[len(port.taken)][2]
            before = [each for each, _ in port.responses] + port.visible
            arrival = max([arrival, *(each + 1 for each in before[-1:])])
            if data is None:
                port.responses.append((arrival, contents[address]))
            else:
                port.visible.append(arrival)
                visible.setdefault(arrival, []).append((address, data))
            port.beat += 1
            if port.beat == port.size:
                port.taken.append(cycle)
                port.beat = 0
                if len(port.taken) < len(port.requests):
                    port.ready_at = cycle + 1 + port.requests[len(port.taken)][0]
        cycle += 1
    return contents


def plan(dram: DramChannel, port: Port, address: int, clock: int) -> int:
    """When the data of a beat would pass."""
    return dram.plan(*dram.place(address), port.writes, clock)[1]
