"""Notes of the compiled engine besides the tokens of a run: its events, what each of them waited for, and a profile.

An event is a firing of a machine, or a beat that a memory channel grants to a port. Its cycle follows from another
event, its *origin*: the firing before it where the machine fires as soon as it can, else the one whose token, or whose
freed slot, it waited for last (``compiled/cpp/record.hpp``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from step.firing.machine import Machine
from step.running.result import Activity

NOBODY = -1


class Reason(enum.IntEnum):
    """Why an event could not be earlier."""

    AFTER = 0
    """The machine fired before, and is occupied for its initiation interval."""
    SENDING = 1
    """What the machine put before is still on its way out, word by word."""
    ARRIVAL = 2
    """A token had to come."""
    FULL = 3
    """A slot had to be freed."""
    BEATS = 4
    """The port had its beat before: it presents one a cycle."""
    BANDWIDTH = 5
    """The memory channel granted another beat before."""
    CROWDED = 6
    """Others were in the banks, or in the queue and on the bus of the DRAM: no event, but a time behind one."""


FIRED = np.dtype(
    {
        "names": ["cycle", "origin", "machine", "number", "late", "size", "kind", "outcome"],
        "formats": ["i8", "i4", "i4", "u4", "i4", "i4", "u1", "u1"],
    },
    align=True,
)
"""An event: its cycle, the event that it follows from (`NOBODY`: none), its machine, and the number of the channel
that it waited for, which its `Reason` tells how. It was ``late`` by so many cycles for banks or DRAM. A firing has its
``outcome`` (`COMPUTES`, `ENDS`), and for a ``size`` the rows of its tile where these are dynamic. A beat has the place
of the memory among the machines plus the number of its port for a machine, its address for a number, and for a
``size`` the cycles until it is there."""

WAIT = np.dtype(
    {"names": ["since", "end", "machine", "channel", "activity"], "formats": ["i8", "i8", "i4", "i4", "u1"]}, align=True
)
"""A machine did not fire from ``since`` to before its ``end``, starved or blocked: for want of a token of the channel,
or of space in it; `NOBODY`: others were in the banks that it wanted."""


@dataclass(eq=False)
class RunRecord:
    """All ``events`` of a run (`FIRED`) in the order of time, and the ``waits`` between them (`WAIT`)."""

    noun: ClassVar = "a record of waits"
    events: np.ndarray = field(default_factory=lambda: np.zeros(0, FIRED))
    waits: np.ndarray = field(default_factory=lambda: np.zeros(0, WAIT))

    def fill(self, events: np.ndarray, waits: np.ndarray, cycles: int) -> None:
        """Be the record of a run that ended after ``cycles``."""
        self.events = events[: np.searchsorted(events["cycle"], cycles)]
        waits = waits[waits["since"] < cycles]
        waits["end"] = np.minimum(waits["end"], cycles)
        self.waits = waits


class Counted:
    """Intervals of ``width`` cycles in the first ``cycles`` of a run.

    When it is over, ``spent`` [machine, activity, interval] are cycles, and ``beats`` [2, interval] those that memory
    granted to reads, and to writes.
    """

    noun = "a profile"

    def __init__(self, width: int, cycles: int) -> None:
        self.width, self.cycles = width, cycles

    def fill(self, numbers: np.ndarray, machines: Sequence[Machine]) -> None:
        """Take what the engine counted of ``machines``."""
        intervals = -(-self.cycles // self.width)
        spent, beats = np.split(numbers, [len(machines) * len(Activity) * intervals])
        self.spent, self.beats = spent.reshape(-1, len(Activity), intervals), beats.reshape(2, intervals)
