"""The masters of a board in front of the memory: the machines of `sim_approx.memory.masters`, and what joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim_approx.memory.channels import BeatPort, MemoryPorts
from sim_approx.memory.masters import FOLLOW, SOME, Acknowledge, Answer, HandOut, Master, Spread, Tell, Transfer
from step.firing.machine import Channel, Machine, Unread
from step.lowering.board import BoardPlan
from step.lowering.bus import AHEAD


def share(
    board: BoardPlan, ports: MemoryPorts, channel: Callable[[int], Channel], place: Callable[[Machine], None]
) -> MemoryPorts:
    """Place the masters of ``board`` in front of memory; returns the ports that memory has instead of ``ports``.

    ``channel`` makes a channel of a depth, ``place`` gets every machine.
    """
    bus, shared = board.bus, MemoryPorts()
    longest, transfers = bus.burst_beats(board.beat_bytes), bus.transfers(board.beat_bytes)
    in_flight = bus.outstanding * longest

    def filled(depth: int) -> Channel:
        made = channel(depth)
        made.tokens.extend([SOME] * depth)
        made.space = 0
        return made

    def master(number: int, *, writes: bool, space: Channel, data: tuple[Channel, ...]) -> _Asked | None:
        """Place the half of a master, if any port goes that way."""
        planned, every = board.of(number, writes=writes), [*ports.reads, *ports.writes]
        if not planned:
            return None
        served, beats = [every[each.number] for each in planned], [each.size_beats for each in planned]
        # Behind those that are outstanding the burst is still there whose store is told, and its slot.
        asked = _Asked(served, channel(bus.outstanding), channel(bus.outstanding + 2), filled(bus.outstanding))
        asked.bursts.addresses = FOLLOW
        place(
            Master(
                inputs=(*(each.asks for each in served), asked.credit, space),
                outputs=(asked.bursts, asked.due, *data),
                writes=writes,
                pieces=beats if writes else [1] * len(beats),
                beats=beats,
                longest=longest,
            )
        )
        return asked

    for number in range(bus.masters):
        if asked := master(number, writes=False, space=channel(1), data=()):
            asks, came = channel(2), channel(in_flight)
            place(Spread(inputs=(asked.bursts,), outputs=(asks,)))
            shared.read(asks, came, 1)
            place(HandOut(inputs=(asked.due, came), outputs=(asked.credit, *asked.arrives), transfers=transfers))
    for number in range(bus.masters):
        space, data = filled(AHEAD), channel(AHEAD)
        if asked := master(number, writes=True, space=space, data=(data,)):
            asks, visible = channel(in_flight), channel(in_flight)
            follow, answers, told = (channel(bus.outstanding) for _ in range(3))
            place(Transfer(inputs=(asked.bursts, data), outputs=(space, asks, follow), transfers=transfers))
            shared.write(asks, visible)
            place(Answer(inputs=(follow, visible), outputs=(answers,)))
            place(Acknowledge(inputs=(asked.due, answers), outputs=(asked.credit, told)))
            place(Tell(inputs=(told,), outputs=asked.arrives))
            shared.before += [*(each.asks for each in asked.ports), data, asked.due, told]
    return shared


@dataclass(frozen=True)
class _Asked:
    """Surroundings of a `Master`: the ``ports`` that it serves, its outputs, and what it may ask for (``credit``)."""

    ports: Sequence[BeatPort]
    bursts: Channel
    due: Channel
    credit: Channel

    @property
    def arrives(self) -> tuple[Channel, ...]:
        """Channels through which ports learn of tiles."""
        return tuple(each.arrives or Unread() for each in self.ports)
