"""What the units that go to off-chip memory have in common."""

from __future__ import annotations

from dataclasses import dataclass

from sim_approx.machine import COMPUTES, ENDS, Channel, Machine, need, put, room, take
from sim_approx.site import Site

REQUEST, PENDING = 0, 1
"""Outputs of the machine that asks: beat addresses to the memory, and what is to come to the one that delivers."""

REQUEST_DEPTH = 2
ADDRESSES_DEPTH = 2


@dataclass(slots=True, eq=False, kw_only=True)
class FetchAddress(Machine):
    """Reads the words of an address, which joins the header."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        room(self.outputs[0])
        take(self.inputs[0])
        put(self.outputs[0], x)
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


@dataclass(slots=True, eq=False, kw_only=True)
class Deliver(Machine):
    """Joins what is to come with the tiles that came from memory."""

    def fire(self) -> int | None:
        x = need(self.inputs[0])
        if x.has_value:
            need(self.inputs[1])
        room(self.outputs[0])
        take(self.inputs[0])
        if x.has_value:
            take(self.inputs[1])
        put(self.outputs[0], x)
        if x.has_value:
            return COMPUTES
        return ENDS if x.done else None


def fetch_addresses(site: Site, port: int) -> Channel:
    """Place the machine that fetches the addresses at input ``port``; returns the channel behind it."""
    words = site.beats_in[port]
    addresses = site.channel(ADDRESSES_DEPTH + 1)  # one is on its way
    site.add(FetchAddress(inputs=(site.inputs[port],), outputs=(addresses,), latency=words, interval=words))
    return addresses
