"""The off-chip memory once more, in plain Python and written from its rules alone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Port:
    """A port with its requests (gap, address, data; data None to read ``size`` beats), and what happened."""

    size: int
    requests: list[tuple[int, int, int | None]]
    taken: list[int] = field(default_factory=list)
    """Cycles in which a request was consumed."""
    responses: list[tuple[int, int]] = field(default_factory=list)
    """Cycle and data of each beat that came back."""
    ready_at: int = 0
    beat: int = 0


def run(ports: list[Port], contents: list[int], channels: int, interval: int, latency: int) -> list[int]:
    """Serve all requests (reads before writes in ``ports``); returns the contents afterwards."""
    contents = list(contents)
    visible: dict[int, list[tuple[int, int]]] = {}
    last, free = [len(ports) - 1] * channels, [0] * channels
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
            if cycle < free[channel]:
                continue
            order = [(last[channel] + 1 + offset) % len(ports) for offset in range(len(ports))]
            winner = next((n for n in order if n in presented and presented[n] % channels == channel), None)
            if winner is None:
                continue
            last[channel], free[channel] = winner, cycle + interval
            port, address = ports[winner], presented[winner]
            data = port.requests[len(port.taken)][2]
            if data is None:
                port.responses.append((cycle + latency, contents[address]))
            else:
                visible.setdefault(cycle + latency, []).append((address, data))
            port.beat += 1
            if port.beat == port.size:
                port.taken.append(cycle)
                port.beat = 0
                if len(port.taken) < len(port.requests):
                    port.ready_at = cycle + 1 + port.requests[len(port.taken)][0]
        cycle += 1
    return contents
