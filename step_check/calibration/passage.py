"""What the tokens of a run say of a unit: when it fired, and how long its results took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from step.language.graph import Node
from step.lowering.netlist import Netlist
from step.running.result import ChannelEvents

VALUE = 2
"""The bit of a control word that says that there is a value."""

Events = Mapping[str, ChannelEvents]


@dataclass(frozen=True)
class Passage:
    """Values through a unit: cycles of its ``firings``, and of each result the cycles that it took.

    ``beats`` of a value at the port with most of them.
    """

    firings: np.ndarray
    latencies: np.ndarray
    beats: int


def passage(netlist: Netlist, node: Node, events: Events) -> Passage:
    """What ``events`` say of the unit of ``node``.

    Where most values pass is where it fires. It makes as many results of every value, or one of as many values.
    """
    before, behind = netlist.inputs(node), [each for each in netlist.outputs(node) if each is not None]
    taken = [_leaves(events[each.name]) for each in before]
    sent = [_enters(events[each.name]) for each in behind]
    counts = [len(each) for each in (*taken, *sent)]
    firings = max((*taken, *sent), key=len)
    ports = zip((*before, *behind), counts, strict=True)
    beats = max(netlist.words(each, node.name) for each, n in ports if n == len(firings))
    of_a_result, of_a_value = max(1, len(taken[0]) // len(sent[0])), max(1, len(sent[0]) // len(taken[0]))
    results, values = sent[0][of_a_value - 1 :: of_a_value], taken[0][of_a_result - 1 :: of_a_result]
    return Passage(firings, results - values, beats)


def distance(netlist: Netlist, node: Node, exact: Events, other: Events) -> int | None:
    """How far a token that the unit takes or sends is in one run from where it is in the other one, at most.

    None where they have not as many.
    """
    moments = [(exact[each.name].leaves, other[each.name].leaves) for each in netlist.inputs(node)]
    sends = [each.name for each in netlist.outputs(node) if each is not None]
    moments += [(exact[each].cycles, other[each].cycles) for each in sends]
    if any(len(one) != len(two) for one, two in moments):
        return None
    return max(int(np.abs(one - two).max(initial=0)) for one, two in moments)


def _leaves(events: ChannelEvents) -> np.ndarray:
    """Of values."""
    values = events.control[: len(events.leaves)] & VALUE != 0
    return events.leaves[values]


def _enters(events: ChannelEvents) -> np.ndarray:
    return events.cycles[events.control & VALUE != 0]
