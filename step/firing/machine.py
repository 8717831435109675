"""The ground of firing rules: machines, and the channels between them as one cycle sees them.

A machine is a firing rule (`Machine.fire`) with its parameters and state words; `step.firing.words` are the words in
which it is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from step.language.faults import rows_of
from step.language.tokens import Token
from step.lowering.links import Gathering
from step.running.result import Activity

COMPUTES, ENDS = 1, 2

Mask = int
"""A set of ports: bit n is port n."""

Address = int
"""A beat of memory."""

Stream = Sequence[Token]
"""The tokens of a stream, up to Done: a list, or loops (`step.language.loops.RegularStream`)."""

UNLIMITED = 1 << 60


class Pace(NamedTuple):
    """Cycles of a firing with a tile of some number of rows; see `Machine`."""

    interval: int
    latency: int
    burst: int = 1


Sizes = Callable[[int], Pace]
"""By the number of rows of a tile, the pace of a firing with it."""


class Counter(NamedTuple):
    """A state ``word`` that counts up, and decides only which entries are next: a run repeats although it goes on.

    Entries of fields: tokens of a ``stream``, ``entries`` that decide, addresses that are ``sent``, and ``tiles``. The
    addresses go into output ``to``; where none are listed, the word itself is the address.
    """

    word: str
    stream: str | None = None
    entries: str | None = None
    sent: str | None = None
    to: int | None = None
    tiles: str | None = None


class Waits(Exception):
    """A machine can not fire; its arguments are the channels of which one would have to change."""


class Starved(Waits):
    """A token that the machine needs is not there."""


class Blocked(Waits):
    """There is no space for a token that the machine wants to put."""


class Entrance(Protocol):
    """The entrance of a channel: tokens that were put are there until they are seen in it."""

    def append(self, item: tuple[Channel, Token], /) -> object: ...


@dataclass(slots=True, eq=False, repr=False)
class Channel:
    """A FIFO between two machines, as one cycle sees it.

    ``tokens`` are those that can be read, ``space`` the slots that can be claimed. Tokens that are put go through
    ``entering`` and slots that are freed through ``freed``: the engine brings them back for the next cycle. They are
    seen ``lag`` cycles later, and tiles of dynamic size those of ``gathering`` besides: ``coming`` are those that
    entered, and are not seen. A freed slot comes back ``hops`` cycles later. ``moved``: the first cycle behind the last
    one in which a token entered or left. Its values are ``addresses`` in memory times that number; 0: they are none.
    """

    capacity: int
    index: int = -1
    lag: int = 0
    gathering: Gathering | None = None
    hops: int = 0
    space: int = field(init=False)
    coming: int = field(default=0, init=False)
    addresses: int = field(default=0, init=False)
    tokens: deque[Token] = field(default_factory=deque, init=False)
    entering: Entrance = field(init=False)
    freed: list[Channel] = field(init=False)
    closed: bool = field(default=False, init=False)
    closing: list[tuple[Channel, int]] = field(init=False)
    taken: int = field(default=0, init=False)
    peak: int = field(default=0, init=False)
    available: int = field(default=0, init=False)
    moved: int = field(default=0, init=False)
    reader: Machine = field(default_factory=lambda: NOBODY, init=False)
    writer: Machine = field(default_factory=lambda: NOBODY, init=False)

    def __post_init__(self) -> None:
        self.space = self.capacity

    @property
    def entered(self) -> int:
        """Tokens that entered so far."""
        return self.taken + len(self.tokens) + self.coming

    def lag_of(self, token: Token) -> int:
        """Cycles that ``token`` is seen later than it could be."""
        if self.gathering is None or not token.has_value:
            return self.lag
        return self.lag + int(self.gathering.waits(rows_of(token.value)))


class Unread(Channel):
    """The channel behind an output without a reader: it takes everything, and forgets it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(UNLIMITED)
        self.entering = deque[tuple[Channel, Token]](maxlen=0)


@dataclass(slots=True, eq=False, kw_only=True)
class Machine:
    """Base of all machines: ports, and what the engine keeps of it.

    ``latency`` is the time from a firing to its tokens entering the outputs, ``interval`` that between a
    firing that computes, or passes a value, and the next one. ``ends_run``: whether the run goes on until this machine
    has ended; ``contends``: whether others may take in a cycle what it wants in the same one.
    ``burst``: the cycles that a result takes on its way out, where that is no part of the interval. With ``sizes``
    these three follow the rows of the tiles that are put into the ``sized`` outputs; what is behind these stays inside
    of the unit, and is there at once.
    """

    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    latency: int = 0
    interval: int = 1
    burst: int = 1
    ends_run: bool = field(default=False, init=False)
    contends: bool = field(default=False, init=False)
    sizes: Sizes | None = field(default=None, init=False)
    sized: tuple[bool, ...] = field(default=(), init=False)
    order: int = field(default=0, init=False)
    firings: int = field(default=0, init=False)
    asleep: bool = field(default=False, init=False)
    activity: int = field(default=Activity.STARVED, init=False)
    since: int = field(default=0, init=False)
    cycles_in: list[int] = field(default_factory=lambda: [0] * len(Activity), init=False)
    counter: ClassVar[Counter | None] = None
    """The state word that may go on while a run repeats itself."""
    unfinished_words: ClassVar[Mapping[str, int]] = {}
    """State words with a token that was taken from an input although the machine is not done with it; -1: the last."""

    def fire(self) -> int | None:
        """One firing, or none: then raises `Starved`, `Blocked` or `Violation`, and has changed nothing."""
        raise NotImplementedError

    def unfinished(self) -> Mapping[int, Token]:
        """By input, the token that was taken from it although the machine is not done with it."""
        return {port % len(self.inputs): getattr(self, word) for word, port in self.unfinished_words.items()}

    def resize(self, tile: Any) -> None:
        """Sets the pace, where sizes are dynamic, to that of a firing with ``tile``, or with one of so many rows."""
        if self.sizes is not None:
            self.interval, self.latency, self.burst = self.sizes(rows_of(tile))

    def switch(self, activity: int, now: int) -> None:
        """From cycle ``now`` on, this is the machine's activity."""
        if activity != self.activity:
            self.cycles_in[self.activity] += now - self.since
            self.activity, self.since = activity, now


NOBODY: Machine = Machine(inputs=(), outputs=())
"""Stands for the reader, or writer, of a channel without one."""
