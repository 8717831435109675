"""Off-chip memory of the artifact, request by request: the reference, in Python.

Addresses do not matter. In every cycle memory takes what its ports have sent, at most ``dispatch`` requests each, those
that read first, in the order of the program. The i-th request of a cycle goes to the channel i behind that of the
request before, and the first one of the next cycle to as many behind the last one as there were requests. A channel
begins a request in the next cycle, or when it is free again.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from sim_published.profile import Hbm


@dataclass(slots=True)
class _PendingBurst:
    left: int
    answered: int = 0


class PythonHbm:
    """Memory for ``ports`` ports, of which the operators send at most ``dispatch`` requests a cycle each."""

    def __init__(self, hbm: Hbm, dispatch: int, ports: int) -> None:
        self.hbm, self.dispatch = hbm, dispatch
        self._free = [0] * hbm.channels
        self._next = 0
        self._cycle = 0
        self._coming: list[tuple[int, int]] = []
        self._bursts = [_PendingBurst(0) for _ in range(ports)]
        self._active: list[int] = []
        self._answers: list[tuple[int, int]] = []

    def issue(self, port: int, start: int, requests: int) -> None:
        """A burst at ``port``, whose first requests memory sees in cycle ``start``; a port has one at a time."""
        self._bursts[port] = _PendingBurst(requests)
        heapq.heappush(self._coming, (start, port))

    def advance(self, limit: int) -> tuple[int, int] | None:
        """The port of the burst that is answered first, and when, as far as the cycles up to ``limit`` tell.

        None where no burst has been answered in full by what was sent until then.
        """
        while True:
            if not self._active and not self._coming:
                break
            cycle = self._cycle if self._active else max(self._cycle, self._coming[0][0])
            if cycle > (min(limit, self._answers[0][0]) if self._answers else limit):
                break
            self._cycle = cycle
            while self._coming and self._coming[0][0] <= self._cycle:
                self._active.append(heapq.heappop(self._coming)[1])
                self._active.sort()
            self._serve()
            self._cycle += 1
        return (self._answers[0][1], self._answers[0][0]) if self._answers else None

    def pop(self) -> None:
        """Forget the burst that is answered first."""
        heapq.heappop(self._answers)

    def _serve(self) -> None:
        """One cycle."""
        hbm, channel, taken = self.hbm, self._next, 0
        delay = hbm.delay
        ended = False
        for port in self._active:
            burst = self._bursts[port]
            for _ in range(min(self.dispatch, burst.left)):
                channel = (channel + taken) % hbm.channels
                taken += 1
                start = max(self._cycle + 1, self._free[channel])
                self._free[channel] = start + hbm.interval
                burst.answered = max(burst.answered, start + delay)
                burst.left -= 1
            if burst.left == 0:
                heapq.heappush(self._answers, (burst.answered + 1, port))
                ended = True
        self._next = (channel + taken) % hbm.channels
        if ended:
            self._active = [port for port in self._active if self._bursts[port].left]
