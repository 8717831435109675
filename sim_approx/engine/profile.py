"""Activities of machines, and beats of memory, in equal intervals of a run: both engines count the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_approx.engine.words import CycleClock
from sim_approx.memory.channels import BeatPort, OffChipMemory
from step.firing.machine import Machine
from step.running.result import Activity


class Counted:
    """Intervals of ``width`` cycles in the first ``cycles`` of a run.

    When it is over, ``spent`` [machine, activity, interval] are cycles, and ``beats`` [2, interval] those that memory
    granted to reads, and to writes.
    """

    def __init__(self, width: int, cycles: int) -> None:
        self.width, self.cycles = width, cycles
        self.beats = np.zeros((2, -(-cycles // width)), np.int64)

    def begin(self, machines: Sequence[Machine]) -> None:
        """The run begins, of ``machines``."""
        self._machines = machines
        self.spent = np.zeros((len(machines), len(Activity), self.beats.shape[1]), np.int64)

    def read(self, numbers: np.ndarray) -> None:
        """Take what the compiled engine counted."""
        self.spent[:] = numbers[: self.spent.size].reshape(self.spent.shape)
        self.beats[:] = numbers[self.spent.size :].reshape(self.beats.shape)

    def watch(self, memory: OffChipMemory, clock: CycleClock) -> None:
        """Count the beats of ``memory``, of which somebody else may be told too."""
        told = memory.told

        def granted(port: BeatPort) -> None:
            if clock.now < self.cycles:
                self.beats[int(port.writes), clock.now // self.width] += 1
            if told is not None:
                told(port)

        memory.told = granted

    def switch(self, machine: Machine, activity: int, now: int) -> None:
        """`Machine.switch`, which counts what the machine did until now."""
        self._spend(machine, now)
        machine.switch(activity, now)

    def end(self) -> None:
        """All machines go on with what they do."""
        for machine in self._machines:
            self._spend(machine, self.cycles)

    def _spend(self, machine: Machine, until: int) -> None:
        row, since, until = self.spent[machine.order, machine.activity], machine.since, min(until, self.cycles)
        while since < until:
            interval = since // self.width
            end = min(until, (interval + 1) * self.width)
            row[interval] += end - since
            since = end
