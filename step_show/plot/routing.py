"""Tokens that went to each expert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from step.errors import InputError
from step.host.figures import BLACK, BLUE, axes_for
from step.host.names import unknown
from step.language.graph import Node
from step.language.types import Selector
from step.lowering.netlist import Netlist
from step.programs.prepare import prepare
from step.running.backend import Run
from step.running.result import ChannelEvents
from step_show.plot.recorded import events_of


def tokens_per_expert(run: Run, *, operator: str | None = None, ax: Any = None) -> Any:
    """Values that went each way behind an operator that routes them in ``run``: tokens of each expert.

    ``operator``: which one, by default that with the most ways. Returns the axes, ``ax`` or new ones.
    Raises `InputError` where there is none, and where several have equally many ways
    that they choose differently.
    """
    netlist, events = prepare(run.program).netlist, events_of(run)
    found = {node.name: _counts(node, netlist, events) for node in _routing(netlist, operator)}
    name, counts = list(found.items())[-1]
    if len({tuple(each) for each in found.values()}) > 1:
        names = ", ".join(found)
        raise InputError(
            f"{netlist.graph.name} routes to {len(counts)} ways in different manners: choose one of {names}"
        )
    axes = axes_for(ax)
    axes.bar(range(len(counts)), counts, color=BLUE, width=0.85, label=f"{counts.sum():,} in all")
    mean = counts.mean()
    axes.axhline(mean, color=BLACK, linestyle="--", label=f"mean {mean:.3g}, most {counts.max():,}")
    axes.set(title=f"{run.program.name}: {name}", xlabel="expert", ylabel="tokens", xlim=(-0.8, len(counts) - 0.2))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.margins(y=0.15)
    axes.legend(loc="upper right", ncols=2, frameon=False)
    return axes


def _routing(netlist: Netlist, operator: str | None) -> list[Node]:
    """Operators that route by selectors: the one called ``operator``, or those with the most outputs."""
    found = {node.name: node for node in netlist.units if len(node.output_types) > 1 and _selects(node)}
    if operator is not None:
        if operator not in found:
            raise InputError(unknown("operator that routes", operator, found))
        return [found[operator]]
    if not found:
        raise InputError(f"no operator of {netlist.graph.name} routes values by selectors, so there are no experts")
    most = max(len(node.output_types) for node in found.values())
    return [node for node in found.values() if len(node.output_types) == most]


def _counts(node: Node, netlist: Netlist, events: Mapping[str, ChannelEvents]) -> np.ndarray:
    """Values that left each output of ``node``."""
    return np.array([0 if each is None else int(events[each.name].valued.sum()) for each in netlist.outputs(node)])


def _selects(node: Node) -> bool:
    """Whether ``node`` takes values beside the selectors that say where they go; copies of selectors are no routing."""
    return len(node.inputs) > 1 and any(isinstance(each.element, Selector) for each in node.input_types)
