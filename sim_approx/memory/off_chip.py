"""Machines that the units at off-chip memory have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim_approx.placing.site import UnitSite
from step.firing.declared import Declared
from step.firing.machine import COMPUTES, ENDS, Channel, Machine, Pace, Sizes
from step.firing.words import need, put, room, take
from step.language.loops import listed
from step.lowering.links import INSIDE


@dataclass(slots=True, eq=False, kw_only=True)
class DeliverTiles(Machine):
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
        return COMPUTES if x.has_value else ENDS if x.done else None


def load(site: UnitSite, declared: Declared, parameters: dict[str, Any]) -> Machine:
    """Place the machine ``declared`` with its ``parameters``, which asks for tiles, and the one that hands them on,
    which is returned."""
    assert declared.loads is not None
    region = site.memory_map.loads[site.node.name]
    request = site.channel(INSIDE)
    pending, arrived = site.channel(site.fabric.outstanding), site.channel(site.fabric.outstanding)
    addresses = listed(declared.loads.times(region.beats_per_tile, region.base))
    parameters |= {"outputs": (request, pending), "addresses": addresses, "tiles": site.tiles()}
    site.add(declared.machine(inputs=site.inputs, **parameters))
    site.memory.read(request, arrived, region.beats_per_tile)
    return deliver(site, pending, arrived)


def stored_alike(site: UnitSite, machine: Machine) -> Sizes:
    """Sizes of a store: all tiles have the rows of those that are stored."""
    pace = Pace(machine.interval, machine.latency)
    return lambda rows: pace


def deliver(site: UnitSite, pending: Channel, arrived: Channel) -> Machine:
    """Place the machine that hands on what is ``pending`` when its tile has ``arrived``."""
    element = site.node.output_types[0].element
    # A header that carries its tile waits for all the words of it.
    control = site.carries and element.is_control
    words = -(-element.bits // (8 * site.fabric.link_bytes)) if control else site.words_out[0]
    latency = words if control else 0
    return site.add(DeliverTiles(inputs=(pending, arrived), outputs=site.outputs, interval=words, latency=latency))
